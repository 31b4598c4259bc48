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


def source_hash(version: str, compiler: str) -> str:
    """Of the sources, the version, the compiler and the processor, which C is compiled for."""
    digest = hashlib.sha256(f"{CRATES[version]} {compiler} {processor()}".encode())
    for source in sorted(path for path in SOURCES.rglob("*") if path.is_file()):
        digest.update(str(source.relative_to(SOURCES)).encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def processor() -> str:
    """What the processor can do, as the kernel tells it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def copy_sources(version: str, work: Path) -> None:
    """Our sources in a folder of their own, with the crates' version; cargo writes there."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(SOURCES, work)
    if version != STANDARD:
        manifest = work / "Cargo.toml"
        manifest.write_text(manifest.read_text().replace(CRATES[STANDARD], CRATES[version]))
        (work / "Cargo.lock").unlink()


def vendor(version: str, work: Path, cargo: str) -> None:
    """Fetches the crates into the folder; from there on nothing is fetched.

    Raises:
        CratesUnavailable: names what cargo said.
    """
    locks = ["--locked"] if version == STANDARD else []
    command = [cargo, "vendor", "-q", *locks, "--versioned-dirs", "vendor"]
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


def build(version: str, work: Path, cargo: str) -> None:
    """Compiles libraries and programs."""
    program("java", "openjdk-17-jdk-headless")
    crates = [work / "vendor" / f"{name}-{CRATES[version]}" for name in CARRIERS]
    jar = fetch_jar()
    for crate in crates:
        prepare(crate, jar)
    sbe = fetch(SBE)
    variables = environment(
        GRADLE_WRAPPER=str(work / "gradlew"), AEROLOG_SBE_CLASSES=f"{sbe}{os.pathsep}{jar}"
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
    work = target.with_name(f"{target.name}.work")
    copy_sources(version, work)
    vendor(version, work, cargo)
    build(version, work, cargo)
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
