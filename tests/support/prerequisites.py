"""What some tests need of the machine, and what becomes of them where it is lacking.

"What it needs" in the README names all of it. This is the one module that skips tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MOUNT = ("mount", "-t", "tmpfs")
_NAMESPACE = ("unshare", "--user", "--map-root-user")
NETWORK_NAMESPACE = (*_NAMESPACE, "--net")
MOUNT_NAMESPACE = (*_NAMESPACE, "--mount")
PROCESS_NAMESPACE = (*_NAMESPACE, "--pid", "--fork", "--mount-proc", "--kill-child")


def skip_without_program(reason: str) -> NoReturn:
    """Skips a test for want of a program; under CI, where all are installed, it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"it must be at hand in CI: {reason}", pytrace=False)
    pytest.skip(reason)


def program_or_skip(name: str) -> str:
    """The path of a program, of the packages in .ci/packages."""
    found = shutil.which(name)
    if found is None:
        skip_without_program(f"{name} not found: see .ci/packages")
    return found


def skip_without(reason: str) -> NoReturn:
    """Skips a test for want of a permission, an address or another Python."""
    pytest.skip(reason)


@cache
def _succeeds(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(
    not _succeeds("unshare", "--mount", *_MOUNT, "tmpfs", "/dev/shm"),
    reason="mounting a file system is not permitted: it needs root, or CAP_SYS_ADMIN",
)
needs_network_namespace = pytest.mark.skipif(
    not (_succeeds("ip", "-V") and _succeeds(*NETWORK_NAMESPACE, "true")),
    reason="a network namespace is not permitted, or ip (iproute2) is not installed",
)
needs_process_namespace = pytest.mark.skipif(
    not _succeeds(*PROCESS_NAMESPACE, "true"),
    reason="a namespace of processes is not permitted, as containers have one",
)
needs_mount_namespace = pytest.mark.skipif(
    not _succeeds(*MOUNT_NAMESPACE, *_MOUNT, "tmpfs", "/dev/shm"),
    reason="a mount namespace is not permitted, so /dev/shm cannot be made small",
)


@contextmanager
def small_disk(path: Path, size: int, *, lazy: bool = False) -> Iterator[Path]:
    """A memory file system of a size in bytes, mounted on a new folder; see `needs_mounts`.

    Args:
        path: the folder.
        size: of the file system.
        lazy: unmount it though processes that outlive the test have files of it open.
    """
    path.mkdir()
    options = ("-o", f"size={size}")
    subprocess.run((*_MOUNT, *options, "tmpfs", str(path)), check=True, timeout=30)
    try:
        yield path
    finally:
        subprocess.run(("umount", *(["-l"] if lazy else []), str(path)), check=True, timeout=30)


def grow_disk(path: Path, size: int) -> None:
    """Give a mounted memory file system a new size in bytes."""
    options = ("-o", f"remount,size={size}")
    subprocess.run(("mount", *options, str(path)), check=True, timeout=30)
