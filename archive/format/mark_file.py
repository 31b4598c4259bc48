"""``archive-mark.dat``: who owns an archive folder, and its error log (spec archive-files 13).

An archive claims the file before it touches anything else in the folder, stores a sign of life once
a second, and stores -1 when it ends. All other processes open it read-only. When the mark file is
in another folder, ``archive-mark.lnk`` in the archive folder names that folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import (
    MARK_BLOCK,
    MARK_BLOCK_LENGTH,
    MARK_FILE_NAME,
    MARK_HEADER_LENGTH,
    MARK_LINK_NAME,
    MARK_MESSAGE_HEADER,
    MARK_MESSAGE_HEADER_LENGTH,
    MARK_SCHEMA_ID,
    MARK_SCHEMA_VERSION,
    MARK_STRINGS,
    MARK_TEMPLATE_ID,
    MAX_I64,
    SEMANTIC_VERSION,
    VERSION_MAJOR,
)
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import ActiveArchiveError, ConfigurationError, FileFormatError
from aerolog.transport.memory.error_log import (
    DistinctErrorLog,
    ErrorObservation,
    has_errors,
    read_error_log,
)
from aerolog.transport.memory.error_text import format_error_log, format_time
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.protocol.fixed_layout import align, offsets, packer

if TYPE_CHECKING:
    from typing import Any

    from aerolog.transport.memory.mapped_file import MappedFile

LIVENESS_TIMEOUT_MS = 10_000
ERROR_BUFFER_LENGTH = 1024 * 1024
ACTIVATION_IN_PROGRESS = MAX_I64
TERMINATED = -1
_LONG_AGO = 1  # an old sign of life: the archive did not end in good order

_MESSAGE_HEADER = packer(MARK_MESSAGE_HEADER, MARK_MESSAGE_HEADER_LENGTH)
_BLOCK = packer(MARK_BLOCK, MARK_BLOCK_LENGTH)
_AT = offsets(MARK_BLOCK)
_READABLE_LENGTH = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkFileHeader:
    """The fields of a mark file at one moment; timestamps are epoch milliseconds."""

    version: int = 0
    activity_timestamp: int = 0
    start_timestamp: int
    pid: int
    control_stream_id: int
    local_control_stream_id: int
    events_stream_id: int
    header_length: int = MARK_HEADER_LENGTH
    error_buffer_length: int = ERROR_BUFFER_LENGTH
    archive_id: int
    control_channel: str
    local_control_channel: str
    events_channel: str
    aeron_directory: str

    def encode(self) -> bytes:
        """Encode the header, from its SBE message header to its last string.

        Raises:
            ConfigurationError: the strings do not fit.
        """
        head = _MESSAGE_HEADER.pack(
            MARK_BLOCK_LENGTH,
            MARK_TEMPLATE_ID,
            MARK_SCHEMA_ID,
            MARK_SCHEMA_VERSION,
        )
        block = _BLOCK.pack(*(getattr(self, field.name) for field in MARK_BLOCK))
        texts = [getattr(self, name).encode("ascii", "replace") for name in MARK_STRINGS]
        data = head + block + b"".join(len(text).to_bytes(4, "little") + text for text in texts)
        if len(data) > MARK_HEADER_LENGTH:
            raise ConfigurationError(
                f"ArchiveMarkFile headerLength={len(data)} > headerLengthCapacity="
                f"{MARK_HEADER_LENGTH}: shorten the channels or the directory's name"
            )
        return data

    def is_active(self, now_ms: int) -> bool:
        """Return whether an archive gave a sign of life in the last ten seconds or is starting."""
        return now_ms - self.activity_timestamp < LIVENESS_TIMEOUT_MS


def mark_file_dir(archive_dir: str | Path, files: FileSystem | None = None) -> str:
    """Return the folder of an archive's mark file: the link file's, else the archive's own."""
    files = files or RealFileSystem()
    link = str(Path(archive_dir) / MARK_LINK_NAME)
    if not files.exists(link):
        return str(archive_dir)
    return files.read_bytes(link).decode("ascii", "replace").strip()


class MarkFile:
    """A mapped mark file; ``open`` reads one, and an archive that starts uses ``claim``.

    Attributes:
        path: path of the file.
        mapped: the whole file.
        error_offset: where the error log starts, bytes.
        error_length: length of the error log, bytes.
    """

    def __init__(self, mapped: MappedFile, clock: Clock) -> None:
        self.path = mapped.path
        self.mapped = mapped
        self.clock = clock
        self._base = _block_offset(mapped)
        self._claimed: tuple[FileSystem, int, int, int] | None = None
        header = self.header
        self.error_offset = header.header_length or MARK_HEADER_LENGTH
        self.error_length = header.error_buffer_length

    @classmethod
    def open(
        cls,
        archive_dir: str | Path,
        *,
        files: FileSystem | None = None,
        clock: Clock | None = None,
    ) -> MarkFile:
        """Open the mark file of a folder for reading at once, whether its archive runs or not.

        Raises:
            FileNotFoundError: the folder has no mark file.
            FileFormatError: the file is not initialised, of another version, or damaged.
        """
        files = files or RealFileSystem()
        path = str(Path(mark_file_dir(archive_dir, files)) / MARK_FILE_NAME)
        mapped = files.open_mapped(path, writable=False, min_length=_READABLE_LENGTH)
        version = mapped.load_i32(_block_offset(mapped) + _AT["version"])
        if version == 0:
            raise FileFormatError(f"mark file is created but not initialised: {path}")
        _check_major(path, version)
        return cls(mapped, clock or SystemClock())

    @classmethod
    def claim(
        cls,
        archive_dir: str | Path,
        header: MarkFileHeader,
        *,
        mark_dir: str | Path | None = None,
        files: FileSystem | None = None,
        clock: Clock | None = None,
        file_page_size: int = 4096,
    ) -> MarkFile:
        """Claim a folder for an archive that starts; ``ready`` completes the start.

        Errors that an earlier archive left are saved in a file, see ``saved_errors``.

        Args:
            archive_dir: the archive folder, which exists.
            header: fields to store; version and activity timestamp in it are ignored.
            mark_dir: folder of the mark file when it is another one; it exists.
            files: the file system to use.
            clock: the clock of the signs of life.
            file_page_size: the driver's page size; the file's length is a multiple of it.

        Raises:
            ActiveArchiveError: a live archive owns the folder, or another one is starting.
            FileFormatError: the existing file is of another major version, or damaged.
            StorageSpaceError: there is no room for the file.
        """
        files = files or RealFileSystem()
        clock = clock or SystemClock()
        folder = str(mark_dir or archive_dir)
        path = str(Path(folder) / MARK_FILE_NAME)
        length = align(MARK_HEADER_LENGTH + header.error_buffer_length, file_page_size)
        encoded = header.encode()
        saved, activity = None, TERMINATED
        if files.exists(path):
            mapped, activity = _take_over(path, length, files, clock)
            saved = _save_errors(mapped, folder, files, clock)
        else:
            mapped = files.create_mapped(path, length)
        _write_header(mapped, encoded)
        _link(str(archive_dir), folder, files)
        mark = cls(mapped, clock)
        mark.saved_errors = saved
        mark.after_crash = activity != TERMINATED
        mark.hold(files, header.pid, header.start_timestamp)
        return mark

    def hold(self, files: FileSystem, pid: int, start_timestamp: int) -> None:
        """Watch from now on whether the folder is still that of this process; see `beat`."""
        self._claimed = (files, files.stamp(self.path)[2], pid, start_timestamp)

    saved_errors: str | None = None
    """Path of the copy of an earlier archive's errors, None when there were none."""

    after_crash: bool = False
    """Whether the archive before this one did not end in good order."""

    @property
    def header(self) -> MarkFileHeader:
        """Return the present values of all fields."""
        return _decode(self.mapped, self._base)

    @property
    def activity_timestamp(self) -> int:
        """Time of the last sign of life, epoch ms; -1 once ended, 2**63 - 1 during a start."""
        return self.mapped.load_i64(self._base + _AT["activity_timestamp"])

    def offset_of(self, field: str) -> int:
        """Return the offset of a field in the file."""
        return self._base + _AT[field]

    def is_active(self) -> bool:
        """Return whether a live archive owns the folder."""
        return self.clock.now_epoch_ms() - self.activity_timestamp < LIVENESS_TIMEOUT_MS

    def ready(self) -> None:
        """Show that the archive runs: store the first sign of life, then the version."""
        self.beat()
        self.mapped.store_i32(self._base + _AT["version"], SEMANTIC_VERSION)
        self.mapped.flush()

    def beat(self) -> None:
        """Store a sign of life; the archive's conductor calls this once a second.

        Raises:
            ActiveArchiveError: another archive has taken the folder over meanwhile, as it may when
                this process stood still for ten seconds; nothing was stored.
        """
        self.check_owned()
        now_ms = self.clock.now_epoch_ms()
        self.mapped.store_i64(self._base + _AT["activity_timestamp"], now_ms)

    def check_owned(self) -> None:
        """Check that the folder is still that of the archive which claimed it here.

        Raises:
            ActiveArchiveError: it is another's.
        """
        if self._claimed is None:
            return
        files, inode, pid, started = self._claimed
        owner = self.mapped.load_i64(self._base + _AT["pid"])
        since = self.mapped.load_i64(self._base + _AT["start_timestamp"])
        if (owner, since) != (pid, started):
            raise ActiveArchiveError(
                f"process {owner} has taken {self.path} over from this archive (process {pid}),"
                " which stood still for ten seconds or more: it has stopped recording; start it"
                " with another aeron.archive.dir"
            )
        if files.exists(self.path) and files.stamp(self.path)[2] != inode:
            raise ActiveArchiveError(
                f"{self.path} was replaced by another file while this archive (process {pid}) ran:"
                " it has stopped recording; see which archive runs there, and start this one again"
            )

    @property
    def is_owned(self) -> bool:
        """Whether `check_owned` finds the folder to be that of the archive which claimed it."""
        try:
            self.check_owned()
        except ActiveArchiveError:
            return False
        return True

    def terminated(self) -> None:
        """Show that the archive ended, or that its start failed, so that the next need not wait."""
        if not self.is_owned:
            return
        self.mapped.store_i64(self._base + _AT["activity_timestamp"], TERMINATED)
        self.mapped.store_i32(self._base + _AT["version"], SEMANTIC_VERSION)
        self.mapped.flush()

    def given_up(self) -> None:
        """Show that a start failed before the folder was in order; the next need not wait."""
        if not self.is_owned:
            return
        self.mapped.store_i64(self._base + _AT["activity_timestamp"], _LONG_AGO)
        self.mapped.flush()

    def error_log(self) -> DistinctErrorLog:
        """Return the error log for writing, which only the owning archive does."""
        return DistinctErrorLog(self.mapped, self.error_offset, self.error_length, self.clock)

    def errors(self, since_ms: int = 0) -> list[ErrorObservation]:
        """Return the distinct errors seen since a time in epoch milliseconds."""
        if self.error_length <= 0:
            return []
        return read_error_log(self.mapped, self.error_offset, self.error_length, since_ms)


def _block_offset(mapped: MappedFile) -> int:
    """Return 8, the SBE header's length, or 0 for old versions, which have no such header."""
    if mapped.length < _READABLE_LENGTH:
        raise FileFormatError(
            f"mark file cut off: {mapped.path} at offset {mapped.length}, its first fields take"
            f" {_READABLE_LENGTH} bytes"
        )
    ids = bytes(mapped.view(2, 4))
    expected = _MESSAGE_HEADER.pack(0, MARK_TEMPLATE_ID, MARK_SCHEMA_ID, 0)[2:6]
    return MARK_MESSAGE_HEADER_LENGTH if ids == expected else 0


def _decode(mapped: MappedFile, base: int) -> MarkFileHeader:
    end = min(mapped.length, MARK_HEADER_LENGTH)
    data = bytes(mapped.view(0, end))
    if end < base + MARK_BLOCK_LENGTH:
        raise FileFormatError(
            f"mark file cut off: {mapped.path} at offset {end}: its fields take"
            f" {base + MARK_BLOCK_LENGTH} bytes"
        )
    names = (field.name for field in MARK_BLOCK)
    values: dict[str, Any] = dict(zip(names, _BLOCK.unpack_from(data, base), strict=True))
    at = base + MARK_BLOCK_LENGTH
    for name in MARK_STRINGS:
        length = int.from_bytes(data[at : at + 4], "little")
        if length > end - at - 4:
            raise FileFormatError(
                f"{name} passes the mark file's header: {mapped.path} at offset {at}: {length}"
            )
        values[name] = data[at + 4 : at + 4 + length].decode("ascii", "replace")
        at += 4 + length
    if not 0 <= values["error_buffer_length"] <= mapped.length - MARK_HEADER_LENGTH:
        raise FileFormatError(
            f"error log passes the mark file's end: {mapped.path} at offset"
            f" {base + _AT['error_buffer_length']}: {values['error_buffer_length']}"
        )
    if values["header_length"] not in (0, MARK_HEADER_LENGTH):
        raise FileFormatError(
            f"unknown mark file header length: {mapped.path} at offset"
            f" {base + _AT['header_length']}: {values['header_length']}"
        )
    return MarkFileHeader(**values)


def _check_major(path: str, version: int) -> None:
    if version >> 16 != VERSION_MAJOR:
        raise FileFormatError(
            f"mark file ({path}) major version {version >> 16} does not match software:"
            f" {VERSION_MAJOR}"
        )


def _take_over(path: str, length: int, files: FileSystem, clock: Clock) -> tuple[MappedFile, int]:
    """Take over an existing mark file; returns it and its last activity timestamp."""
    if files.size(path) < length:
        with files.open_data_file(path, writable=True) as file:
            file.set_length(length)
    unused = files.is_unused(path)
    mapped = files.open_mapped(path)
    base = _block_offset(mapped)
    version = mapped.load_i32(base + _AT["version"])
    pid = mapped.load_i64(base + _AT["pid"])
    # There is no wait for an owner that is certain to be gone, and one that died before it was
    # ready does not block the folder for ever. Its process id says nothing: an owner in another
    # container has an id that does not exist here, or is another's.
    if version != 0 or not unused:
        _check_major(path, version)
    at = base + _AT["activity_timestamp"]
    activity = mapped.load_i64(at)
    if clock.now_epoch_ms() - activity < LIVENESS_TIMEOUT_MS and not unused:
        raise ActiveArchiveError(
            f"active mark file detected: {path}: stop the archive of process {pid}, or use"
            " another aeron.archive.dir"
        )
    if not mapped.compare_and_set_i64(at, activity, ACTIVATION_IN_PROGRESS):
        raise ActiveArchiveError(f"concurrent mark file activation: {path}")
    mapped.allocate_range(0, length)
    return mapped, activity


def _save_errors(mapped: MappedFile, folder: str, files: FileSystem, clock: Clock) -> str | None:
    """Copy the errors in a file just taken over to a text file in its folder, and clear them."""
    start, length = MARK_HEADER_LENGTH, mapped.length - MARK_HEADER_LENGTH
    if not has_errors(mapped, start, length):
        return None
    observations = read_error_log(mapped, start, length)
    stamp = format_time(clock.now_epoch_ms()).replace(" ", "-").replace(":", "-")
    target = str(Path(folder) / f"archive-{stamp.replace('.', '-')}-error.log")
    files.write_bytes(target, format_error_log(observations).encode())
    mapped.view(start, length)[:] = bytes(length)
    return target


def _write_header(mapped: MappedFile, encoded: bytes) -> None:
    """Overwrite all fields but version and activity, which show how far the start has come."""
    base = MARK_MESSAGE_HEADER_LENGTH
    if _block_offset(mapped) == 0 and any(mapped.view(0, _READABLE_LENGTH)):
        # The file has the old layout, whose fields would be read at wrong offsets.
        mapped.view(0, MARK_HEADER_LENGTH)[:] = bytes(MARK_HEADER_LENGTH)
        mapped.store_i64(base + _AT["activity_timestamp"], ACTIVATION_IN_PROGRESS)
    behind = base + _AT["start_timestamp"]
    mapped.view(0, base)[:] = encoded[:base]
    mapped.view(behind, len(encoded) - behind)[:] = encoded[behind:]


def _link(archive_dir: str, folder: str, files: FileSystem) -> None:
    link = str(Path(archive_dir) / MARK_LINK_NAME)
    target = os.path.realpath(folder)
    if target != os.path.realpath(archive_dir):
        files.write_bytes(link, target.encode("ascii", "replace"))
    elif files.exists(link):
        files.remove(link)


assert {field.name for field in fields(MarkFileHeader)} == {
    *(field.name for field in MARK_BLOCK),
    *MARK_STRINGS,
}


def owner_is_gone(archive_dir: str | Path, files: FileSystem) -> bool:
    """Return whether it is certain that no process has a folder's mark file open.

    It is not while this process, or a tool that reads, has it open; then only the time of the last
    sign of life tells.
    """
    path = str(Path(mark_file_dir(archive_dir, files)) / MARK_FILE_NAME)
    return files.exists(path) and files.is_unused(path)


def running_archive(
    archive_dir: str | Path, files: FileSystem | None = None, clock: Clock | None = None
) -> MarkFile | None:
    """Return the mark file of the archive that runs in a folder, None when none runs."""
    if owner_is_gone(archive_dir, files or RealFileSystem()):
        return None
    try:
        mark = MarkFile.open(archive_dir, files=files, clock=clock)
    except (FileNotFoundError, FileFormatError):
        return None
    return mark if mark.is_active() else None
