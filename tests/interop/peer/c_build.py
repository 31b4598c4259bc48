"""Builds the C peer, a client and a driver, from crates that carry the reference's C sources.

What it takes is in .ci/packages; the crates come with cargo, cmake with pip, and with Maven the
tool that makes the archive client's codecs. Programs and libraries are kept in the cache under the
hash of everything that made them; scripts/c_peer.py builds what is missing.
"""

import functools
import hashlib
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from peer.artifact import PeerUnavailable, cache_dir, fetch, fetch_jar, locked, program, run

SOURCES = Path(__file__).resolve().parent / "c"
LOCKS = SOURCES.with_name("c_locks")  # of the versions but the standard, whose is with the sources
PREREQUISITES = Path(__file__).resolve().parents[3] / "scripts" / "prerequisites"
# Of .ci/packages, which has more than one name for cargo's.
PACKAGES = re.compile(r"cargo.*|clang|libclang-dev|libbsd-dev|uuid-dev")
# The versions of the reference, and the crates' that carry them; the first one is the standard.
CRATES = {"1.51.0": "0.1.168", "1.52.2": "0.2.4", "1.54.0": "0.2.16"}
STANDARD = next(iter(CRATES))
SBE = "uk.co.real-logic:sbe-tool:1.38.1"  # later ones are not on Maven Central
CARRIERS = ("rusteron-archive", "rusteron-media-driver")

VENDORED = """\
[source.crates-io]
replace-with = "vendored"

[source.vendored]
directory = "vendor"
"""


class CratesUnavailable(Exception):  # noqa: N818 (a reason, not a fault)
    """The crates cannot be fetched here: the reason to skip with."""


def version_of(implementation: str) -> str:
    """The version of the reference that "c" or "c-1.52.2" names, or an empty text."""
    name, _, version = implementation.partition("-")
    return (version or STANDARD) if name == "c" else ""


@dataclass(frozen=True)
class CPrograms:
    """The programs of one version, each beside the libraries that it loads."""

    client: Path
    driver: Path


def environment(**more: str) -> dict[str, str]:
    """The environment with the programs of this Python's folder, which has pip's cmake, first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, **more}


def sources(version: str) -> dict[Path, bytes]:
    """Our sources, with the crates' version in the manifest and with the lock file of that version.

    A lock file names every crate with its checksum, so that a build is the same next year.
    """
    paths = sorted(path for path in SOURCES.rglob("*") if path.is_file())
    found = {path.relative_to(SOURCES): path.read_bytes() for path in paths}
    if version != STANDARD:
        manifest = Path("Cargo.toml")
        crates = CRATES[STANDARD].encode(), CRATES[version].encode()
        found[manifest] = found[manifest].replace(*crates)
        found[Path("Cargo.lock")] = (LOCKS / f"{version}.lock").read_bytes()
    return found


def source_hash(version: str, compiler: str) -> str:
    """Of the sources, the version, the compiler and the processor, which C is compiled for."""
    digest = hashlib.sha256(f"{CRATES[version]} {compiler} {processor()}".encode())
    for path, content in sources(version).items():
        digest.update(str(path).encode() + b"\0" + content)
    return digest.hexdigest()[:16]


def processor() -> str:
    """What the processor can do, as the kernel tells it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def write_sources(version: str, work: Path) -> None:
    """The sources in a folder of their own; cargo writes there."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(SOURCES, work)
    for path, content in sources(version).items():
        (work / path).write_bytes(content)


def vendor(work: Path, cargo: str) -> None:
    """Fetches the crates of the lock file into the folder; from there on nothing is fetched.

    Raises:
        CratesUnavailable: names what cargo said.
    """
    command = [cargo, "vendor", "-q", "--locked", "--versioned-dirs", "vendor"]
    run(command, "fetching the crates", 300, CratesUnavailable, cwd=work)
    (work / ".cargo").mkdir()
    (work / ".cargo" / "config.toml").write_text(VENDORED)


def prepare(crate: Path, jar: Path) -> None:
    """Puts a jar where the crate's build looks for Gradle's: it only asks whether there is one."""
    aeron = crate / "aeron"
    libs = aeron / "aeron-all" / "build" / "libs"
    libs.mkdir(parents=True)
    shutil.copy(jar, libs / f"aeron-all-{(aeron / 'version.txt').read_text().strip()}.jar")
    # The build writes its bindings into the crate, which a vendored one may not without this.
    checksums = crate / ".cargo-checksum.json"
    checksums.write_text(json.dumps({**json.loads(checksums.read_text()), "files": {}}))


def build(version: str, work: Path, cargo: str, sbe: Path) -> None:
    """Compiles libraries and programs; ``sbe`` is the jar of the SBE tool."""
    jar = fetch_jar()
    for name in CARRIERS:
        prepare(work / "vendor" / f"{name}-{CRATES[version]}", jar)
    variables = environment(
        GRADLE_WRAPPER=str(work / "gradlew"),
        AEROLOG_SBE_CLASSES=f"{sbe}{os.pathsep}{jar}",
        # The sources ask git for their commit and would get this checkout's.
        GIT_CEILING_DIRECTORIES=str(work.parent.resolve()),
    )
    command = [cargo, "build", "-q", "--release", "--offline"]
    run(command, "building the C peer", 1800, RuntimeError, cwd=work, env=variables)


def install(work: Path, target: Path) -> None:
    """Copies programs and libraries to the folder that stays."""
    release = work / "target" / "release"
    fresh = target.with_name(f"{target.name}.part")
    shutil.rmtree(fresh, ignore_errors=True)
    for name, crate in zip(("client", "driver"), CARRIERS, strict=True):
        (fresh / name).mkdir(parents=True)
        shutil.copy(release / f"c-{name}", fresh / name)
        for library in release.glob(f"build/{crate}-*/out/build/lib/*.so"):
            shutil.copy(library, fresh / name)
    fresh.rename(target)


def check_packages() -> None:
    """Looks for what the build takes of the system, before it fails in the middle.

    Raises:
        PeerUnavailable: names the packages that are missing.
    """
    listed = run([str(PREREQUISITES), "--list", "test"], "looking for packages", 60).split()
    missing = [package for package in listed if PACKAGES.fullmatch(package)]
    if missing:
        raise PeerUnavailable(f"the build lacks packages: install {', '.join(missing)}")


def build_once(version: str, target: Path) -> None:
    """Builds the programs of a version in a folder beside the target and moves them there."""
    check_packages()
    cargo = program("cargo", "cargo")
    program("java", "openjdk-17-jdk-headless")
    sbe = fetch(SBE)  # before the crates: CI skips for want of them, but not for want of Maven's
    work = target.with_name(f"{target.name}.work")
    write_sources(version, work)
    vendor(work, cargo)
    build(version, work, cargo, sbe)
    install(work, target)
    shutil.rmtree(work)


@functools.cache
def outcome(version: str) -> CPrograms | Exception:
    """The programs, or why there are none: a build takes minutes and is tried once in a run."""
    try:
        compiler = run([program("cargo", "cargo"), "--version"], "cargo --version", timeout=30)
        program("clang", "clang and libclang-dev")
        target = cache_dir() / "c-peer" / f"{version}-{source_hash(version, compiler)}"
        target.parent.mkdir(exist_ok=True)
        with locked(f"c-peer-{version}"):
            if not target.exists():
                build_once(version, target)
    except (PeerUnavailable, CratesUnavailable, RuntimeError) as reason:
        return reason
    return CPrograms(target / "client" / "c-client", target / "driver" / "c-driver")


def c_programs(version: str = STANDARD) -> CPrograms:
    """The C peer of a version of the reference, built when it is not in the cache.

    Raises:
        PeerUnavailable: names the program that is missing.
        CratesUnavailable: the crates cannot be fetched.
        RuntimeError: the build failed.
    """
    found = outcome(version)
    if isinstance(found, Exception):
        raise found
    return found
