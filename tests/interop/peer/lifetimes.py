"""Servers that tests start, noted with their directories, so that both end and go after them."""

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

from prerequisites import skip_without, skip_without_program
from shared_memory import memory_path

from peer.artifact import PeerUnavailable
from peer.c_build import CratesUnavailable, c_programs, version_of
from peer.servers import Server, ServerSpec, start

_dirs = itertools.count(1)
Start = Callable[..., Server]


def c_reference(version: str) -> None:
    """The C peer of a version, or a visible skip; for want of a program a failure under CI."""
    try:
        c_programs(version)
    except PeerUnavailable as reason:
        skip_without_program(f"no C peer: {reason}")
    except CratesUnavailable as reason:
        skip_without(f"no C peer: {reason}")


def server_starter(running: list[Server], folders: list[Path], archive_root: Path) -> Start:
    """Makes the ``start_server`` fixture's function, which notes what `stop_all` shall undo."""

    def start_server(
        implementation: str,
        kind: str,
        *,
        aeron_dir: Path | None = None,
        archive_dir: Path | None = None,
        properties: dict[str, str] | None = None,
        prefix: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> Server:
        if version := version_of(implementation):
            c_reference(version)
        if aeron_dir is None:
            aeron_dir = memory_path()
            folders.append(aeron_dir)
        if archive_dir is None and kind != "driver":
            archive_dir = archive_root / f"archive-{next(_dirs)}"
        spec = ServerSpec(kind, aeron_dir, archive_dir, properties or {}, prefix, environment or {})
        server = start(implementation, spec)
        running.append(server)
        return server

    return start_server


def stop_all(running: list[Server], folders: list[Path]) -> None:
    """Ends the servers, last one first, and removes their directories."""
    codes = [
        (server.process.name, server.process.stop())
        for server in reversed(running)
        if server.process.running
    ]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    assert all(code == 0 for _, code in codes), f"a server ended badly: {codes}"
