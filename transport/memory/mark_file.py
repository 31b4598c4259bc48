"""Mark files: who owns a folder, and the owner's error log.

An owner claims the file before it touches anything else in the folder, stores a sign of life once
a second, and stores -1 when it ends. All other processes open it read-only. A mark file may be in
another folder; a link file beside the owner's other files then names that folder.

Archives (spec archive-files 13) and clusters (spec cluster 4) state what is special in theirs.
"""

from __future__ import annotations

import os
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.errors import AerologError, ConfigurationError, FileFormatError
from aerolog.transport.memory.error_log import (
    DistinctErrorLog,
    ErrorObservation,
    has_errors,
    read_error_log,
)
from aerolog.transport.memory.error_text import format_error_log, saved_errors_path
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.memory.mark_beat import MarkBeat
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.mark_header import MARK_HEADER_LENGTH, MarkHeader
from aerolog.transport.protocol.sbe import HEADER, HEADER_LENGTH, VAR_LENGTH
from aerolog.transport.resource import Resource
from aerolog.transport.text_output import write_text

if TYPE_CHECKING:
    from typing import Any

    from aerolog.transport.memory.mapped_file import MappedFile
    from aerolog.transport.protocol.sbe import MessageLayout

LIVENESS_TIMEOUT_MS = 10_000
ACTIVATION_IN_PROGRESS = 2**63 - 1
TERMINATED = -1
_LONG_AGO = 1  # an old sign of life: the owner did not end in good order
_READABLE_LENGTH = 24


H = TypeVar("H", bound=MarkHeader)


def link_name(name: str) -> str:
    """Return the name of the link file for a mark file of that name."""
    return f"{name.removesuffix('.dat')}.lnk"


def linked_folder(folder: str | Path, name: str, files: FileSystem | None = None) -> str:
    """Return the folder of a mark file: the link file's, else the folder itself."""
    files = files or RealFileSystem()
    link = str(Path(folder) / link_name(name))
    if not files.exists(link):
        return str(folder)
    return files.read_bytes(link).decode("ascii", "replace").strip()


def has_no_owner(folder: str | Path, name: str, files: FileSystem) -> bool:
    """Return whether it is certain that no process has a folder's mark file open.

    It is not while this process, or a tool that reads, has it open; then only the time of the last
    sign of life tells.
    """
    path = str(Path(linked_folder(folder, name, files)) / name)
    return files.exists(path) and files.is_unused(path)


class MarkFile(Resource, Generic[H]):
    """A mapped mark file; ``open`` reads one, and an owner that starts uses ``claim``.

    Attributes:
        HEADER: the message at the start of the file.
        NAME: name of the file.
        CLASS_NAME: the reference's name for such files, which begins its messages.
        VERSION: the semantic version that an owner which is ready stores.
        OWNER: what owns such a folder, in words.
        LOSS: what an owner that lost its folder has done, in words.
        DIR_PROPERTY: the property that names the folder.
        ACTIVE_ERROR: raised where the folder is another's.
        ERROR_PREFIX: how names of files with saved errors begin, a format that takes the header.
        FAILED_VERSION: the version after a failed start, None where there is no such version.
        KEPT: fields of eight bytes that outlast an owner.
        path: path of the file.
        mapped: the whole file.
        error_offset: where the error log starts, bytes.
        error_length: length of the error log, bytes.
    """

    HEADER: ClassVar[type[Any]]
    NAME: ClassVar[str]
    CLASS_NAME: ClassVar[str]
    VERSION: ClassVar[int]
    OWNER: ClassVar[str]
    LOSS: ClassVar[str]
    DIR_PROPERTY: ClassVar[str]
    ACTIVE_ERROR: ClassVar[type[AerologError]]
    ERROR_PREFIX: ClassVar[str]
    FAILED_VERSION: ClassVar[int | None] = None
    KEPT: ClassVar[tuple[str, ...]] = ()

    def __init__(self, mapped: MappedFile, clock: Clock) -> None:
        self.path = mapped.path
        self.mapped = mapped
        self.clock = clock
        self._base = self._block_offset(mapped)
        self._claimed: tuple[FileSystem, int, int, int] | None = None
        header = self.header
        self.error_offset = header.header_length or MARK_HEADER_LENGTH
        self.error_length = header.error_buffer_length

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        name: str | None = None,
        files: FileSystem | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """Open the mark file of a folder for reading at once, whether its owner runs or not.

        Args:
            folder: the owner's folder.
            name: name of the mark file where it is not `NAME`.
            files: the file system to use.
            clock: what the signs of life are compared with.

        Raises:
            FileNotFoundError: the folder has no mark file.
            FileFormatError: the file is not initialised, of another version, or damaged.
        """
        files = files or RealFileSystem()
        name = name or cls.NAME
        path = str(Path(linked_folder(folder, name, files)) / name)
        mapped = files.open_mapped(path, writable=False, min_length=_READABLE_LENGTH)
        version = mapped.load_i32(cls._block_offset(mapped) + cls._at("version"))
        if version == 0:
            raise FileFormatError(f"mark file is created but not initialised: {path}")
        cls._check_version(path, version)
        return cls(mapped, clock or SystemClock())

    @classmethod
    def claim(
        cls,
        folder: str | Path,
        header: H,
        *,
        name: str | None = None,
        mark_dir: str | Path | None = None,
        files: FileSystem | None = None,
        clock: Clock | None = None,
        file_page_size: int = 4096,
    ) -> Self:
        """Claim a folder for an owner that starts; ``ready`` completes the start.

        Errors that an earlier owner left are saved in a file, see ``saved_errors``, which a line on
        stderr names.

        Args:
            folder: the owner's folder, which exists.
            header: fields to store; version and activity timestamp in it are ignored.
            name: name of the mark file where it is not `NAME`.
            mark_dir: folder of the mark file when it is another one; it exists.
            files: the file system to use.
            clock: the clock of the signs of life.
            file_page_size: the driver's page size; the file's length is a multiple of it.

        Raises:
            AerologError: a live owner has the folder, or another one is starting; its class is
                `ACTIVE_ERROR`.
            FileFormatError: the existing file is of another major version, or damaged.
            StorageSpaceError: there is no room for the file.
        """
        files = files or RealFileSystem()
        clock = clock or SystemClock()
        name = name or cls.NAME
        target = str(mark_dir or folder)
        path = str(Path(target) / name)
        length = align(MARK_HEADER_LENGTH + header.error_buffer_length, file_page_size)
        encoded = cls._encode(header)
        saved, activity = None, TERMINATED
        if files.exists(path):
            mapped, activity = cls._take_over(path, length, header, files, clock)
            encoded = cls._encode(cls._with_kept(header, mapped))
            saved = _save_errors(mapped, target, cls.ERROR_PREFIX.format(header), files, clock)
        else:
            mapped = files.create_mapped(path, length)
        cls._write_header(mapped, encoded)
        _link(str(folder), target, link_name(name), files)
        if saved is not None:
            write_text(f"WARNING: existing errors saved to: {saved}\n")
        mark = cls(mapped, clock)
        mark.saved_errors = saved
        mark.after_crash = activity != TERMINATED
        mark.hold(files, header.pid, header.start_timestamp)
        return mark

    @classmethod
    def check_free(
        cls,
        folder: str | Path,
        *,
        name: str | None = None,
        mark_dir: str | Path | None = None,
        files: FileSystem | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Check that no live owner has a folder; nothing is changed.

        A process that starts several parts checks the folders of all before it claims the first.

        Args:
            folder: the owner's folder.
            name: as for `claim`, and so are all others.
            mark_dir: folder of the mark file when it is another one.
            files: the file system to use.
            clock: what the signs of life are compared with.

        Raises:
            AerologError: a live owner has the folder; its class is `ACTIVE_ERROR`.
        """
        files = files or RealFileSystem()
        path = str(Path(mark_dir or folder) / (name or cls.NAME))
        if files.exists(path) and files.size(path) >= _READABLE_LENGTH:
            unused = files.is_unused(path)
            mapped = files.open_mapped(path, writable=False)
            base = cls._block_offset(mapped)
            version = mapped.load_i32(base + cls._at("version"))
            if version not in {0, cls.FAILED_VERSION}:
                cls._check_version(path, version)
            activity = mapped.load_i64(base + cls._at("activity_timestamp"))
            pid = mapped.load_i64(base + cls._at("pid"))
            cls._check_dead(path, activity, pid, clock or SystemClock(), unused=unused)

    @classmethod
    def _check_dead(cls, path: str, activity: int, pid: int, clock: Clock, *, unused: bool) -> None:
        if clock.now_epoch_ms() - activity < LIVENESS_TIMEOUT_MS and not unused:
            raise cls.ACTIVE_ERROR(
                f"active mark file detected: {path}: stop the {cls.OWNER} of process {pid}, or use"
                f" another {cls.DIR_PROPERTY}"
            )

    def hold(self, files: FileSystem, pid: int, start_timestamp: int) -> None:
        """Watch from now on whether the folder is still that of this process; see `beat`."""
        self._claimed = (files, files.stamp(self.path)[2], pid, start_timestamp)

    def close(self) -> None:
        """Let go of the folder; the file stays mapped while something refers to it."""
        self._claimed = None

    saved_errors: str | None = None
    """Path of the copy of an earlier owner's errors, None when there were none."""

    after_crash: bool = False
    """Whether the owner before this one did not end in good order."""

    @classmethod
    def check_predecessor(cls, header: H, mapped: MappedFile) -> None:
        """Check that an existing file, which nobody owns, is one of the new owner's kind."""

    # -- fields ------------------------------------------------------------------------------------

    @property
    def header(self) -> H:
        """Return the present values of all fields."""
        return self._decode(self.mapped)

    @property
    def activity_timestamp(self) -> int:
        """Time of the last sign of life, epoch ms; -1 once ended, 2**63 - 1 during a start."""
        return self.mapped.load_i64(self.offset_of("activity_timestamp"))

    def offset_of(self, field: str) -> int:
        """Return the offset of a field in the file."""
        return self._base + self._at(field)

    def is_active(self) -> bool:
        """Return whether a live owner has the folder."""
        return self.clock.now_epoch_ms() - self.activity_timestamp < LIVENESS_TIMEOUT_MS

    # -- an owner's life ---------------------------------------------------------------------------

    def ready(self) -> None:
        """Show that the owner runs: store the first sign of life, then the version."""
        self.beat()
        self._store_version(self.VERSION)

    def beat(self) -> None:
        """Store a sign of life; the owner calls this once a second.

        Raises:
            AerologError: another owner has taken the folder over meanwhile, as it may when this
                process stood still for ten seconds; nothing was stored. Its class is
                `ACTIVE_ERROR`.
        """
        self.check_owned()
        self._store_activity(self.clock.now_epoch_ms())

    def native_beat(self) -> MarkBeat | None:
        """Return what gives the owner's signs of life natively; None unless it has the folder."""
        if self._claimed is None:
            return None
        _, _, pid, started = self._claimed
        return MarkBeat(
            self.mapped,
            self.clock,
            activity_offset=self.offset_of("activity_timestamp"),
            pid_offset=self.offset_of("pid"),
            started_offset=self.offset_of("start_timestamp"),
            pid=pid,
            started=started,
        )

    def check_owned(self) -> None:
        """Check that the folder is still that of the owner which claimed it here.

        Raises:
            AerologError: it is another's; its class is `ACTIVE_ERROR`.
        """
        if self._claimed is None:
            return
        files, inode, pid, started = self._claimed
        owner = self.mapped.load_i64(self.offset_of("pid"))
        since = self.mapped.load_i64(self.offset_of("start_timestamp"))
        if (owner, since) != (pid, started):
            raise self.ACTIVE_ERROR(
                f"process {owner} has taken {self.path} over from this {self.OWNER}"
                f" (process {pid}), which stood still for ten seconds or more: {self.LOSS}; start"
                f" it with another {self.DIR_PROPERTY}"
            )
        if files.exists(self.path) and files.stamp(self.path)[2] != inode:
            raise self.ACTIVE_ERROR(
                f"{self.path} was replaced by another file while this {self.OWNER} (process {pid})"
                f" ran: {self.LOSS}; see which {self.OWNER} runs there, and start this one again"
            )

    @property
    def is_owned(self) -> bool:
        """Whether `check_owned` finds the folder to be that of the owner which claimed it."""
        try:
            self.check_owned()
        except self.ACTIVE_ERROR:
            return False
        return True

    def terminated(self) -> None:
        """Show that the owner ended, or that its start failed, so that the next need not wait."""
        if not self.is_owned:
            return
        self._store_activity(TERMINATED)
        self._store_version(self.VERSION)

    def given_up(self) -> None:
        """Show that a start failed before the folder was in order; the next need not wait."""
        if not self.is_owned:
            return
        self._store_activity(_LONG_AGO)
        self.mapped.flush()

    def _store_activity(self, timestamp: int) -> None:
        self.mapped.store_i64(self.offset_of("activity_timestamp"), timestamp)

    def _store_version(self, version: int) -> None:
        self.mapped.store_i32(self.offset_of("version"), version)
        self.mapped.flush()

    # -- errors ------------------------------------------------------------------------------------

    def error_log(self) -> DistinctErrorLog:
        """Return the error log for writing, which only the owner does."""
        return DistinctErrorLog(self.mapped, self.error_offset, self.error_length, self.clock)

    def errors(self, since_ms: int = 0) -> list[ErrorObservation]:
        """Return the distinct errors seen since a time in epoch milliseconds."""
        if self.error_length <= 0:
            return []
        return read_error_log(self.mapped, self.error_offset, self.error_length, since_ms)

    # -- bytes -------------------------------------------------------------------------------------

    @classmethod
    def _at(cls, field: str) -> int:
        """Offset of a field of the block."""
        layout: MessageLayout = cls.HEADER.LAYOUT
        return next(each.offset for each in layout.fixed if each.name == field)

    @classmethod
    def _block_offset(cls, mapped: MappedFile) -> int:
        """Return 8, the SBE header's length, or 0 for old versions, which have no such header."""
        if mapped.length < _READABLE_LENGTH:
            raise FileFormatError(
                f"mark file cut off: {mapped.path} at offset {mapped.length}, its first fields take"
                f" {_READABLE_LENGTH} bytes"
            )
        layout = cls.HEADER.LAYOUT
        expected = HEADER.pack(0, layout.template_id, layout.schema.id, 0)[2:6]
        return HEADER_LENGTH if bytes(mapped.view(2, 4)) == expected else 0

    @classmethod
    def _encode(cls, header: H) -> bytes:
        data = header.encode()
        if len(data) > MARK_HEADER_LENGTH:
            raise ConfigurationError(
                f"{cls.CLASS_NAME} headerLength={len(data)} > headerLengthCapacity="
                f"{MARK_HEADER_LENGTH}: shorten the channels or the directory's name"
            )
        return data

    @classmethod
    def _with_kept(cls, header: H, mapped: MappedFile) -> H:
        """Return a header with the fields of an existing file that outlast its owner."""
        found = copy(header)
        for name in cls.KEPT:
            setattr(found, name, mapped.load_i64(cls._block_offset(mapped) + cls._at(name)))
        return found

    @classmethod
    def _decode(cls, mapped: MappedFile) -> H:
        base, layout = cls._block_offset(mapped), cls.HEADER.LAYOUT
        end = min(mapped.length, MARK_HEADER_LENGTH)
        data = bytes(mapped.view(0, end))
        if end < base + layout.block_length:
            raise FileFormatError(
                f"mark file cut off: {mapped.path} at offset {end}: its fields take"
                f" {base + layout.block_length} bytes"
            )
        # Where an old file has no message header, what it did not have is zero.
        schema_version = HEADER.unpack_from(data)[3] if base else layout.schema_version
        values: dict[str, Any] = layout.decode_block(data, base)
        at = base + layout.block_length
        for field in layout.var:
            values[field.name] = ""
            if field.since > schema_version:
                continue
            length = int.from_bytes(data[at : at + 4], "little")
            at += VAR_LENGTH.size
            if length > end - at:
                raise FileFormatError(
                    f"{field.name} passes the mark file's header: {mapped.path} at offset"
                    f" {at - VAR_LENGTH.size}: {length}"
                )
            values[field.name] = data[at : at + length].decode("ascii", "replace")
            at += length
        header: H = cls.HEADER(**values)
        if not 0 <= header.error_buffer_length <= mapped.length - MARK_HEADER_LENGTH:
            raise FileFormatError(
                f"error log passes the mark file's end: {mapped.path} at offset"
                f" {base + cls._at('error_buffer_length')}: {header.error_buffer_length}"
            )
        if header.header_length not in (0, MARK_HEADER_LENGTH):
            raise FileFormatError(
                f"unknown mark file header length: {mapped.path} at offset"
                f" {base + cls._at('header_length')}: {header.header_length}"
            )
        return header

    @classmethod
    def _check_version(cls, path: str, version: int) -> None:
        if version >> 16 != cls.VERSION >> 16:
            raise FileFormatError(
                f"mark file ({path}) major version {version >> 16} does not match software:"
                f" {cls.VERSION >> 16}"
            )

    @classmethod
    def _take_over(
        cls, path: str, length: int, header: H, files: FileSystem, clock: Clock
    ) -> tuple[MappedFile, int]:
        """Take over an existing mark file; returns it and its last activity timestamp."""
        if files.size(path) < length:
            with files.open_data_file(path, writable=True) as file:
                file.set_length(length)
        unused = files.is_unused(path)
        mapped = files.open_mapped(path)
        base = cls._block_offset(mapped)
        version = mapped.load_i32(base + cls._at("version"))
        pid = mapped.load_i64(base + cls._at("pid"))
        # There is no wait for an owner that is certain to be gone, and one that died before it was
        # ready does not block the folder for ever. Its process id says nothing: an owner in another
        # container has an id that does not exist here, or is another's.
        if version != cls.FAILED_VERSION and (version != 0 or not unused):
            cls._check_version(path, version)
        at = base + cls._at("activity_timestamp")
        activity = mapped.load_i64(at)
        cls._check_dead(path, activity, pid, clock, unused=unused)
        cls.check_predecessor(header, mapped)
        if not mapped.compare_and_set_i64(at, activity, ACTIVATION_IN_PROGRESS):
            raise cls.ACTIVE_ERROR(f"concurrent mark file activation: {path}")
        mapped.allocate_range(0, length)
        return mapped, activity

    @classmethod
    def _write_header(cls, mapped: MappedFile, encoded: bytes) -> None:
        """Overwrite all fields but version and activity, which show how far the start has come."""
        activity_at = HEADER_LENGTH + cls._at("activity_timestamp")
        if cls._block_offset(mapped) == 0 and any(mapped.view(0, _READABLE_LENGTH)):
            # The file has the old layout, whose fields would be read at wrong offsets.
            mapped.view(0, MARK_HEADER_LENGTH)[:] = bytes(MARK_HEADER_LENGTH)
            mapped.store_i64(activity_at, ACTIVATION_IN_PROGRESS)
        version_at = HEADER_LENGTH + cls._at("version")
        for start, end in (
            (0, version_at),
            (version_at + 4, activity_at),
            (activity_at + 8, len(encoded)),
        ):
            mapped.view(start, end - start)[:] = encoded[start:end]


def _save_errors(
    mapped: MappedFile, folder: str, prefix: str, files: FileSystem, clock: Clock
) -> str | None:
    """Copy the errors in a file just taken over to a text file in its folder, and clear them."""
    start, length = MARK_HEADER_LENGTH, mapped.length - MARK_HEADER_LENGTH
    if not has_errors(mapped, start, length):
        return None
    observations = read_error_log(mapped, start, length)
    target = saved_errors_path(str(Path(folder) / prefix), clock.now_epoch_ms())
    files.write_bytes(target, format_error_log(observations).encode())
    mapped.view(start, length)[:] = bytes(length)
    return target


def _link(folder: str, mark_dir: str, name: str, files: FileSystem) -> None:
    link = str(Path(folder) / name)
    target = os.path.realpath(mark_dir)
    if target != os.path.realpath(folder):
        files.write_bytes(link, target.encode("ascii", "replace"))
    elif files.exists(link):
        files.remove(link)
