"""Finds Java and the reference's jar and compiles the peer programs, all into one cache folder.

The cache is ``.cache`` in the checkout or ``AEROLOG_CACHE``. Maven fetches the jar and checks it
against the registry's checksum; classes are kept under the hash of everything that made them.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

AERON_VERSION = "1.51.0"
ARTIFACT = f"io.aeron:aeron-all:{AERON_VERSION}"
CHECKOUT = Path(__file__).resolve().parents[3]
SOURCES = Path(__file__).resolve().parent / "java"
JVM_FLAGS = (
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Xmx384m",
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-opens=java.base/java.util.zip=ALL-UNNAMED",
    "-Xlog:cds=off",  # an archive of classes that does not fit is passed over in silence
    "-Xlog:cds+dynamic=off",
)


class PeerUnavailable(Exception):  # noqa: N818 (a reason, not a fault)
    """Java or the artifact cannot be had on this machine: the reason to skip with."""


@dataclass(frozen=True)
class Toolchain:
    """A ready JVM peer: the launcher, the jar, the jar of our own classes and the start flags."""

    java: str
    jar: Path
    classes: Path
    flags: tuple[str, ...]

    def command(self, main_class: str, *args: str, properties: dict[str, str]) -> list[str]:
        """The command line that runs one main class of the jar or of ours."""
        defines = [f"-D{name}={value}" for name, value in properties.items()]
        path = f"{self.jar}{os.pathsep}{self.classes}"
        return [self.java, *self.flags, *defines, "-cp", path, main_class, *args]


def cache_dir() -> Path:
    """The folder that outlives test runs."""
    path = Path(os.environ.get("AEROLOG_CACHE", CHECKOUT / ".cache"))
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Holds a lock file of the cache, so that runs beside each other fetch and compile once."""
    with (cache_dir() / f"{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def program(name: str, package: str) -> str:
    """The path of a program, or a reason that names the Debian package with it."""
    home = os.environ.get("JAVA_HOME")
    beside = Path(home, "bin", name) if home and name.startswith("java") else None
    found = str(beside) if beside and beside.exists() else shutil.which(name)
    if found is None:
        raise PeerUnavailable(f"{name} not found: install {package}")
    return found


def run(
    command: list[str],
    what: str,
    timeout: float,
    error: type[Exception] = PeerUnavailable,
    *,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
) -> str:
    """Runs a build step; its output is the reason when it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, check=False, cwd=cwd, env=env
        )
    except subprocess.TimeoutExpired:
        raise error(f"{what} took more than {timeout:.0f} s") from None
    if done.returncode != 0:
        raise error(f"{what} failed: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout + done.stderr


def fetch(artifact: str) -> Path:
    """A jar by group, name and version, fetched once by Maven, which verifies its checksum."""
    _, name, version = artifact.split(":")
    jar = cache_dir() / "maven" / f"{name}-{version}.jar"
    if jar.exists():
        return jar
    with locked("maven"):
        if jar.exists():
            return jar
        fresh = cache_dir() / "maven.part"
        run(
            [
                program("mvn", "maven"),
                "-q",
                "-B",
                "--strict-checksums",
                "dependency:copy",
                f"-Dartifact={artifact}",
                f"-DoutputDirectory={fresh}",
            ],
            f"fetching {artifact} with Maven",
            timeout=300,
        )
        jar.parent.mkdir(exist_ok=True)
        (fresh / jar.name).rename(jar)
        shutil.rmtree(fresh)
    return jar


def fetch_jar() -> Path:
    """The reference's jar."""
    return fetch(ARTIFACT)


def compile_peers(jar: Path) -> Path:
    """The jar of the peer programs, kept under the hash of compiler, jar and sources."""
    javac = program("javac", "openjdk-17-jdk-headless")
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(run([javac, "-version"], "javac -version", timeout=30).encode())
    digest.update(jar.read_bytes())
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    target = cache_dir() / "classes" / digest.hexdigest()[:16]
    peers = target / "peers.jar"
    if target.exists():
        return peers
    with locked("classes"):
        if not target.exists():
            fresh = target.with_suffix(".part")
            shutil.rmtree(fresh, ignore_errors=True)
            options = ["-Xlint:all", "-Werror", "-proc:none", "-cp", str(jar)]
            command = [javac, *options, "-d", str(fresh / "classes"), *map(str, sources)]
            run(command, "compiling the Java peers", timeout=120, error=RuntimeError)
            packed = shutil.make_archive(str(fresh / "peers"), "zip", fresh / "classes")
            Path(packed).rename(fresh / peers.name)
            shutil.rmtree(fresh / "classes")
            fresh.rename(target)
            archive_classes(jar, peers)
    return peers


def shared_archive(peers: Path) -> Path:
    """Where the JVM's archive of loaded classes is, beside the jar of the peers."""
    return peers.with_suffix(".jsa")


def archive_classes(jar: Path, peers: Path) -> None:
    """Writes the archive of loaded classes, with which a JVM starts in about half the time.

    The JVM compares the paths of the jars, so they are in their place. Without the archive all
    runs as with it.
    """
    fresh = shared_archive(peers).with_suffix(".part")
    folder = peers.with_suffix(".run")
    tools = Toolchain(
        program("java", "openjdk-17-jdk-headless"),
        jar,
        peers,
        (*JVM_FLAGS, f"-XX:ArchiveClassesAtExit={fresh}"),
    )
    command = tools.command(
        "ClassArchive",
        properties={
            "aeron.dir": str(folder / "aeron"),
            "aeron.archive.dir": str(folder / "archive"),
            "aeron.archive.control.channel": "aeron:udp?endpoint=localhost:0",
            "aeron.archive.replication.channel": "aeron:udp?endpoint=localhost:0",
        },
    )
    with contextlib.suppress(PeerUnavailable):
        run(command, "archiving classes", timeout=120)
        fresh.rename(shared_archive(peers))
    shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def toolchain() -> Toolchain:
    """The ready peer.

    Raises:
        PeerUnavailable: names what is missing.
    """
    java = program("java", "openjdk-17-jdk-headless")
    jar = fetch_jar()
    peers = compile_peers(jar)
    archive = f"-XX:SharedArchiveFile={shared_archive(peers)}"
    return Toolchain(java, jar, peers, (*JVM_FLAGS, archive))
