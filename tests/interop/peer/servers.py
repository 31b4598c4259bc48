"""Drivers and archives in processes of their own: the reference's and ours, configured alike.

Both sides take the reference's property names, so one dictionary describes either.
"""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from peer.artifact import toolchain
from peer.c_build import c_programs, version_of
from peer.process import ServerProcess

DRIVER_DEFAULTS = {
    "aeron.threading.mode": "SHARED",
    "aeron.term.buffer.length": "64k",
    "aeron.ipc.term.buffer.length": "64k",
    "aeron.term.buffer.sparse.file": "true",
    "aeron.shared.idle.strategy": "org.agrona.concurrent.BackoffIdleStrategy",
    "aeron.conductor.idle.strategy": "org.agrona.concurrent.BackoffIdleStrategy",
}
ARCHIVE_DEFAULTS = {
    "aeron.archive.control.channel": "aeron:udp?endpoint=localhost:0",
    "aeron.archive.control.channel.enabled": "false",
    "aeron.archive.control.response.channel": "aeron:ipc",
    "aeron.archive.replication.channel": "aeron:udp?endpoint=localhost:0",
    "aeron.archive.recording.events.channel": "aeron:ipc",
    "aeron.archive.recording.events.enabled": "true",
    "aeron.archive.control.term.buffer.length": "64k",
    "aeron.archive.threading.mode": "SHARED",
    "aeron.archive.segment.file.length": "128k",
}
# Values that the driver in C has another word for.
C_VALUES = {"org.agrona.concurrent.BackoffIdleStrategy": "backoff"}
MODULES = {
    "driver": ["aerolog.transport.driver"],
    "archive": ["aerolog.archive.service"],
    "archiving-driver": ["aerolog.tools.main", "archiving-driver"],
}


def variable(name: str) -> str:
    """The environment's variable for a property."""
    return name.upper().replace(".", "_")


@dataclass
class ServerSpec:
    """What to start: ``kind`` is driver, archive or archiving-driver.

    ``prefix`` is a command that runs it, for example in another network namespace; ``environment``
    is added to that of a driver that takes settings from there, as ours and the one in C do.
    """

    kind: str
    aeron_dir: Path
    archive_dir: Path | None = None
    properties: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def all_properties(self) -> dict[str, str]:
        """Defaults that keep tests small and quick, then the directories, then the given ones."""
        merged = {"aeron.dir": str(self.aeron_dir)}
        if self.kind != "archive":
            merged |= DRIVER_DEFAULTS
        if self.kind != "driver":
            assert self.archive_dir is not None, "an archive needs archive_dir"
            merged |= ARCHIVE_DEFAULTS | {"aeron.archive.dir": str(self.archive_dir)}
        merged |= self.properties
        return {
            name: value for name, value in merged.items() if variable(name) not in self.environment
        }

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders in which the server's error logs are."""
        own = () if self.kind == "archive" else (self.aeron_dir,)
        return own if self.archive_dir is None else (*own, self.archive_dir)


@dataclass
class Server:
    """A running server and where it lives."""

    implementation: str
    spec: ServerSpec
    process: ServerProcess

    @property
    def aeron_dir(self) -> str:
        """The Aeron directory as text."""
        return str(self.spec.aeron_dir)

    @property
    def archive_dir(self) -> Path:
        """The archive's folder."""
        assert self.spec.archive_dir is not None
        return self.spec.archive_dir

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self.process.pid


def start_java(spec: ServerSpec) -> Server:
    """Starts the reference and waits until it says that it runs."""
    command = toolchain().command("Server", spec.kind, properties=spec.all_properties())
    process = ServerProcess(f"java-{spec.kind}", [*spec.prefix, *command], folders=spec.folders)
    process.wait_line("ready")
    return Server("reference", spec, process)


def start_ours(
    spec: ServerSpec, *, env: dict[str, str] | None = None, timeout: float = 60.0
) -> Server:
    """Starts ours with the same properties and waits for its one line."""
    command = [sys.executable, "-m", *MODULES[spec.kind]]
    command += [f"-D{name}={value}" for name, value in spec.all_properties().items()]
    process = ServerProcess(
        f"our-{spec.kind}",
        [*spec.prefix, *command],
        env={**os.environ, "PYTHONUNBUFFERED": "1", **spec.environment, **(env or {})},
        folders=spec.folders,
        stop_by_signal=True,
    )
    process.next_line(timeout)
    return Server("ours", spec, process)


def start_c(spec: ServerSpec, implementation: str = "c") -> Server:
    """Starts the reference's C driver, which takes its settings from the environment.

    ``implementation`` is "c", or "c-" and a version.
    """
    assert spec.kind == "driver", "the reference has no archive in C"
    settings = {
        variable(name): C_VALUES.get(value, value) for name, value in spec.all_properties().items()
    }
    command = [*spec.prefix, str(c_programs(version_of(implementation)).driver)]
    env = {**os.environ, **settings, **spec.environment}
    process = ServerProcess(f"{implementation}-driver", command, folders=spec.folders, env=env)
    process.wait_line("ready")
    return Server(implementation, spec, process)


def start(implementation: str, spec: ServerSpec) -> Server:
    """Starts "ours", the "reference" in Java, or its driver in C as `start_c` names it."""
    if implementation == "ours":
        return start_ours(spec)
    if implementation == "reference":
        return start_java(spec)
    return start_c(spec, implementation)
