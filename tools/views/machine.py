"""What the machine tells: processes, file systems, UDP sockets (Linux' /proc, read-only).

Where there is no /proc, or it may not be read, less is known and nothing fails.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.system_snapshot import Disk, Host, Process, Socket
from aerolog.transport.memory.processes import process_exists, process_status

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMORY: Final = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
_HUGE: Final = "hugetlbfs"
_PAGE: Final = 4096
_UDP_FIELDS: Final = 13


def process(pid: int) -> Process:
    """A process by its id, as seen from here: another container's is not."""
    if pid <= 0:
        return Process(pid)
    if not process_exists(pid):
        return Process(pid, exists=False)
    status = process_status(pid)
    return Process(pid, exists=True, state="" if status is None else status.state)


def disk(path: str) -> Disk | None:
    """The file system that holds a folder, None when it cannot be asked."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    mount, kind = _mount_of(path)
    return Disk(
        mount,
        total=found.f_blocks * found.f_frsize,
        free=found.f_bavail * found.f_frsize,
        # Elsewhere the block size is a hint for reading, and no unit of mapping.
        block_size=found.f_bsize if kind == _HUGE else _PAGE,
        is_memory=kind in _MEMORY or not kind,
    )


def _mount_of(path: str) -> tuple[str, str]:
    """Mount point and type of the file system of a path; the type is "" when not known."""
    real = os.path.realpath(path)
    best, kind = "/", ""
    for line in _lines("/proc/self/mounts"):
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        mount = parts[1].replace("\\040", " ")
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, parts[2]
    return best, kind


def sockets(pid: int) -> list[Socket]:
    """The UDP sockets in the network namespace of a process."""
    return [
        socket
        for family in ("udp", "udp6")
        for line in _lines(f"/proc/{pid}/net/{family}")
        if (socket := _socket(line)) is not None
    ]


def _socket(line: str) -> Socket | None:
    parts = line.split()
    if len(parts) < _UDP_FIELDS or not parts[0].endswith(":"):
        return None
    try:
        return Socket(
            port=int(parts[1].rpartition(":")[2], 16),
            drops=int(parts[12]),
            waiting=int(parts[4].rpartition(":")[2], 16),
            inode=int(parts[9]),
        )
    except ValueError:
        return None


def host() -> Host:
    """The limit of the system for socket buffers."""
    text = next(_lines("/proc/sys/net/core/rmem_max"), "")
    return Host(int(text) if text.isdigit() else -1)


def _lines(path: str) -> Iterator[str]:
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield from text.splitlines()
