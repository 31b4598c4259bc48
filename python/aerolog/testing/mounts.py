"""Several fake disks under one root, as a machine has its memory disk beside its real ones."""
# ruff: noqa: D102  (the methods of MountedFileSystem are documented in FileSystem)

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from aerolog.transport.memory.filesystem import FileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aerolog.transport.memory.data_file import DataFile
    from aerolog.transport.memory.filesystem import FileLock, FileStamp
    from aerolog.transport.memory.mapped_file import MappedFile


class MountedFileSystem(FileSystem):
    """File systems by the folder under which they are found.

    Args:
        mounts: folder to file system; the longest folder that fits a path has it. ``/`` is there.
    """

    def __init__(self, mounts: Mapping[str, FileSystem]) -> None:
        self._mounts = sorted(mounts.items(), key=lambda mount: -len(mount[0]))

    def of(self, path: str) -> FileSystem:
        """The file system that holds a path."""
        name = posixpath.normpath(posixpath.join("/", path))
        for folder, files in self._mounts:
            if name == folder or name.startswith(folder.rstrip("/") + "/"):
                return files
        raise FileNotFoundError(path)

    def create_mapped(
        self, path: str, length: int, *, preallocate: bool = True, check_space: bool = True
    ) -> MappedFile:
        return self.of(path).create_mapped(
            path, length, preallocate=preallocate, check_space=check_space
        )

    def open_mapped(self, path: str, *, writable: bool = True, min_length: int = 1) -> MappedFile:
        return self.of(path).open_mapped(path, writable=writable, min_length=min_length)

    def open_data_file(
        self, path: str, *, writable: bool = False, create: bool = False, exclusive: bool = False
    ) -> DataFile:
        return self.of(path).open_data_file(
            path, writable=writable, create=create, exclusive=exclusive
        )

    def exists(self, path: str) -> bool:
        return self.of(path).exists(path)

    def is_dir(self, path: str) -> bool:
        return self.of(path).is_dir(path)

    def is_regular(self, path: str) -> bool:
        return self.of(path).is_regular(path)

    def is_link(self, path: str) -> bool:
        return self.of(path).is_link(path)

    def size(self, path: str) -> int:
        return self.of(path).size(path)

    def remove(self, path: str) -> None:
        self.of(path).remove(path)

    def remove_tree(self, path: str) -> None:
        self.of(path).remove_tree(path)

    def make_dirs(self, path: str) -> None:
        self.of(path).make_dirs(path)

    def list_dir(self, path: str) -> list[str]:
        return self.of(path).list_dir(path)

    def scan_dir(self, path: str) -> Iterator[str]:
        return self.of(path).scan_dir(path)

    def rename(self, source: str, target: str) -> None:
        self.of(source).rename(source, target)

    def link(self, source: str, target: str) -> None:
        self.of(source).link(source, target)

    def shared_file(self, path: str) -> tuple[int, int] | None:
        return self.of(path).shared_file(path)

    def stamp(self, path: str) -> FileStamp:
        return self.of(path).stamp(path)

    def sync_dir(self, path: str) -> None:
        self.of(path).sync_dir(path)

    def usable_space(self, path: str) -> int:
        return self.of(path).usable_space(path)

    def store_name(self, path: str) -> str:
        return self.of(path).store_name(path)

    def is_unused(self, path: str) -> bool:
        return self.of(path).is_unused(path)

    def try_lock(self, path: str) -> FileLock | None:
        return self.of(path).try_lock(path)

    def read_bytes(self, path: str) -> bytes:
        return self.of(path).read_bytes(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self.of(path).write_bytes(path, data)
