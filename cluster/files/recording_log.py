"""``recording.log``: the terms of a node's log, and its snapshots (spec cluster 3).

A cluster folder holds no log and no snapshot itself: each is a recording of the node's archive, and
the entries here say which. One thread, that of the consensus module, writes the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.cluster.files.layout import (
    ENDPOINT_LENGTH_MAX,
    ENDPOINT_OFFSET,
    ENTRY,
    ENTRY_ALIGNMENT,
    ENTRY_FIELDS,
    INVALID_FLAG,
    RECORDING_LOG_NAME,
    REMOVED,
)
from aerolog.cluster.protocol import NULL_POSITION, NULL_VALUE
from aerolog.transport.errors import ConfigurationError, FileFormatError
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.protocol.fixed_layout import align, offsets
from aerolog.transport.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.protocol.sbe import Buffer

_AT = offsets(ENTRY_FIELDS)


class EntryType(IntEnum):
    """What an entry stands for."""

    TERM = 0
    SNAPSHOT = 1
    STANDBY_SNAPSHOT = 2


# Terms stand before the snapshots taken in them, and standby snapshots before a node's own.
_RANK = {EntryType.TERM: 0, EntryType.STANDBY_SNAPSHOT: 1, EntryType.SNAPSHOT: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """An entry of a recording log.

    Attributes:
        recording_id: the recording that holds the log or the snapshot.
        leadership_term_id: the term, or the term in which the snapshot was taken.
        term_base_log_position: where that term starts in the log, bytes.
        log_position: where a term ends, -1 while it is open; or where a snapshot was taken.
        timestamp: when the term began or the snapshot was taken, in the cluster's time unit.
        service_id: the service of a snapshot, -1 for the consensus module and for terms.
        type: what the entry stands for.
        is_valid: whether the entry counts; an invalidated one stays in the file.
        archive_endpoint: the archive of a standby snapshot, ASCII; empty for others.
        index: the number of the entry in the file, from 0.
        offset: where the entry lies in the file, bytes; -1 for one that is not in it yet.
    """

    recording_id: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    timestamp: int
    service_id: int = NULL_VALUE
    type: EntryType
    is_valid: bool = True
    archive_endpoint: str = ""
    index: int = 0
    offset: int = -1

    @property
    def length(self) -> int:
        """Bytes that the entry takes in the file, a multiple of 64."""
        text = len(self.archive_endpoint) + 4 if self.archive_endpoint else 0
        return align(ENDPOINT_OFFSET + text, ENTRY_ALIGNMENT)

    @property
    def order(self) -> tuple[int, int, int, int, int]:
        """What entries are sorted by; those with the same value keep the order of the file."""
        rank = _RANK[self.type]
        behind = (0, 0) if self.type == EntryType.TERM else (self.log_position, -self.service_id)
        return (self.leadership_term_id, self.term_base_log_position, rank, *behind)

    @property
    def place(self) -> tuple[int, int, int]:
        """Term, base and position, which all entries of one snapshot have in common."""
        return (self.leadership_term_id, self.term_base_log_position, self.log_position)

    def encode(self) -> bytes:
        """Encode the entry, with its padding.

        Raises:
            ConfigurationError: the endpoint is not ASCII, longer than 4,044 characters, absent from
                a standby snapshot, or present elsewhere.
        """
        if (self.type == EntryType.STANDBY_SNAPSHOT) != bool(self.archive_endpoint):
            raise ConfigurationError(
                f"an archive endpoint belongs to standby snapshots, and only to them:"
                f" type={self.type.name} archiveEndpoint={self.archive_endpoint!r}"
            )
        if len(self.archive_endpoint) > ENDPOINT_LENGTH_MAX or not self.archive_endpoint.isascii():
            raise ConfigurationError(
                f"an archive endpoint has at most {ENDPOINT_LENGTH_MAX} ASCII characters:"
                f" {len(self.archive_endpoint)} characters given"
            )
        stored = self.type - (0 if self.is_valid else INVALID_FLAG)
        values = (getattr(self, field.name) for field in ENTRY_FIELDS[:-1])
        text = self.archive_endpoint.encode("ascii")
        data = ENTRY.pack(*values, stored)
        if text:
            data += len(text).to_bytes(4, "little") + text
        return data.ljust(self.length, b"\0")


def read_recording_log(
    data: bytes, path: str = RECORDING_LOG_NAME
) -> tuple[list[LogEntry], int, int]:
    """Read the entries of a recording log, in the order of the file.

    An entry of which the end, or all, was not written is left out, as a power failure leaves one.

    Args:
        data: the bytes of the file.
        path: the file's path, for messages.

    Returns:
        The entries without those that were removed, the index of the next entry, and where it is
        to be written.

    Raises:
        FileFormatError: the bytes are not those of a recording log.
    """
    entries: list[LogEntry] = []
    count = end = 0
    for offset, length, entry in walk_recording_log(data, path):
        end = offset + length
        count += 1
        if entry is not None:
            entries.append(entry)
    return entries, count, end


def walk_recording_log(
    data: Buffer, path: str = RECORDING_LOG_NAME
) -> Iterator[tuple[int, int, LogEntry | None]]:
    """Walk the entries of a recording log, in the order of the file.

    Yields:
        Offset and length of each entry, and the entry itself; None for one that was removed.

    Raises:
        FileFormatError: the bytes are not those of a recording log.
    """
    at = index = 0
    while len(data) - at > ENDPOINT_OFFSET:
        *numbers, stored = ENTRY.unpack_from(data, at)
        if not any((*numbers, stored)) and not any(bytes(data[at:])):
            # The file became longer before power was lost, but nothing was written: the service id
            # of a term is -1, so that no entry has zeros only.
            return
        kind = stored & (INVALID_FLAG - 1) if stored != REMOVED else REMOVED
        if kind not in (*EntryType, REMOVED):
            raise FileFormatError(
                f"unknown entry type in recording log: {path} at offset {at + _AT['type']}:"
                f" {stored}; restore the file from a copy"
            )
        endpoint = ""
        length = ENTRY_ALIGNMENT
        if kind == EntryType.STANDBY_SNAPSHOT:
            found = _endpoint(data, at, path)
            if found is None:
                return
            endpoint = found
            length = align(ENDPOINT_OFFSET + 4 + len(found), ENTRY_ALIGNMENT)
        entry = None
        if kind != REMOVED:
            values = dict(zip((field.name for field in ENTRY_FIELDS), numbers, strict=False))
            entry = LogEntry(
                **values,
                type=EntryType(kind),
                is_valid=stored >= 0,
                archive_endpoint=endpoint,
                index=index,
                offset=at,
            )
        yield at, length, entry
        index += 1
        at += length


def _endpoint(data: Buffer, at: int, path: str) -> str | None:
    """Return the text of the entry at an offset, None when the file ends within it."""
    start = at + ENDPOINT_OFFSET + 4
    if len(data) < start:
        return None
    length = int.from_bytes(data[start - 4 : start], "little")
    if length > ENDPOINT_LENGTH_MAX:
        raise FileFormatError(
            f"archive endpoint of a recording log's entry is too long: {path} at offset"
            f" {start - 4}: {length}; restore the file from a copy"
        )
    if len(data) < start + length:
        return None
    return str(data[start : start + length], "ascii", "replace")


def _is_valid_term(entry: LogEntry) -> bool:
    return entry.is_valid and entry.type == EntryType.TERM


def _is_valid_snapshot(entry: LogEntry) -> bool:
    return entry.is_valid and entry.type == EntryType.SNAPSHOT


def _is_valid_any_snapshot(entry: LogEntry) -> bool:
    return entry.is_valid and entry.type != EntryType.TERM


class RecordingLog(Resource):
    """The recording log of a cluster folder, with its entries in memory.

    Attributes:
        path: path of the file.
        entries: all entries, invalidated ones too, in the order of terms and positions.
        end: where the next entry is to be written, bytes.
        torn_length: bytes behind the last whole entry, as a cut append leaves them.

    Args:
        cluster_dir: the cluster's folder, which exists.
        create: create the file where it is missing.
        writable: False for one that is only looked at.
        sync_level: how much an appended entry is forced to the disk: 0 not, 1 data, 2 all.
        files: the file system to use.
        on_change: called after each change, with the log.

    Raises:
        FileNotFoundError: the file is missing and ``create`` is not set.
        FileFormatError: the file is damaged, or its terms name several recordings.
    """

    def __init__(
        self,
        cluster_dir: str | Path,
        *,
        create: bool = False,
        writable: bool = True,
        sync_level: int = 1,
        files: FileSystem | None = None,
        on_change: Callable[[RecordingLog], object] | None = None,
    ) -> None:
        files = files or RealFileSystem()
        self.path = str(Path(cluster_dir) / RECORDING_LOG_NAME)
        self._on_change = on_change
        self._sync_level = sync_level
        is_new = create and not files.exists(self.path)
        self._file = files.open_data_file(self.path, writable=writable, create=create)
        self.entries: list[LogEntry] = []
        self.end = self._next_index = self.torn_length = 0
        try:
            if is_new:
                files.sync_dir(str(cluster_dir))
            self.reload()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self) -> bytes:
        """Return the bytes of all whole entries, in the order of the file."""
        return self._file.read_at(self.end, 0)

    def durable(self) -> bytes:
        """Force the file to the disk, and return what `read` does."""
        self._file.flush(max(self._sync_level, 1))
        return self.read()

    def reload(self) -> None:
        """Read the file again.

        Raises:
            FileFormatError: the file is damaged, or its terms name several recordings.
        """
        data = self._file.read_at(self._file.file_size(), 0)
        entries, self._next_index, self.end = read_recording_log(data, self.path)
        self.torn_length = max(len(data) - self.end, 0)
        ids = {entry.recording_id for entry in entries if _is_valid_term(entry)}
        if len(ids) > 1:
            raise FileFormatError(
                f"terms in {self.path} name several recordings as the log: {sorted(ids)}; a node"
                " has one log, so restore the file from a copy"
            )
        self.entries = sorted(entries, key=lambda entry: entry.order)

    @property
    def last_term(self) -> LogEntry | None:
        """The last valid entry of a term, None before the first term."""
        return next((entry for entry in reversed(self.entries) if _is_valid_term(entry)), None)

    def term(self, leadership_term_id: int) -> LogEntry | None:
        """Return the valid entry of a term, None when the log does not know it."""
        return next(
            (
                entry
                for entry in reversed(self.entries)
                if _is_valid_term(entry) and entry.leadership_term_id == leadership_term_id
            ),
            None,
        )

    def append(self, entry: LogEntry) -> LogEntry:
        """Write a term or a part of a snapshot; its index and offset are chosen here.

        A snapshot at the term, position and service of an invalidated one takes its place.

        Returns:
            The entry as it stands in the file.

        Raises:
            ConfigurationError: the endpoint does not fit the type, or a term names another
                recording than the terms before it.
        """
        if entry.type == EntryType.TERM:
            self._check_recording(entry)
        entry = replace(entry, index=self._next_index, offset=self.end)
        old = self._invalidated_twin(entry)
        if old is not None:
            entry = replace(entry, index=old.index, offset=old.offset)
        data = entry.encode()
        if self.torn_length:
            # What a cut append left could be read as an entry behind a shorter one.
            self._file.set_length(self.end)
            self.torn_length = 0
        self._write(data, entry.offset)
        if old is None:
            self.end += entry.length
            self._next_index += 1
        else:
            self.entries.remove(old)
        self.entries.append(entry)
        self.entries.sort(key=lambda found: (*found.order, found.index))
        self._changed()
        return entry

    def _check_recording(self, entry: LogEntry) -> None:
        last = self.last_term
        if last and last.recording_id != entry.recording_id:
            raise ConfigurationError(
                f"invalid recordingId={entry.recording_id}, the log of {self.path} is recording"
                f" {last.recording_id}"
            )

    def _invalidated_twin(self, entry: LogEntry) -> LogEntry | None:
        if entry.type == EntryType.TERM:
            return None
        wanted = (entry.type, entry.service_id, entry.place, entry.length)
        for old in self.entries:
            if not old.is_valid and (old.type, old.service_id, old.place, old.length) == wanted:
                return old
        return None

    def commit_log_position(self, leadership_term_id: int, log_position: int) -> None:
        """Store where a term ended.

        Args:
            leadership_term_id: a term in the log.
            log_position: its end in the log, bytes.

        Raises:
            ConfigurationError: the log has no valid entry of that term.
        """
        entry = self.term(leadership_term_id)
        if entry is None:
            raise ConfigurationError(f"unknown leadershipTermId={leadership_term_id}: {self.path}")
        if entry.log_position == log_position:
            return
        data = log_position.to_bytes(8, "little", signed=True)
        self._write(data, entry.offset + _AT["log_position"])
        self._exchange(entry, replace(entry, log_position=log_position))

    def invalidate(self, entry: LogEntry) -> None:
        """Mark an entry of this log as one that does not count."""
        stored = (entry.type - INVALID_FLAG).to_bytes(4, "little", signed=True)
        self._write(stored, entry.offset + _AT["type"])
        self._exchange(entry, replace(entry, is_valid=False))

    def invalidate_latest_snapshot(self) -> bool:
        """Invalidate all entries of the newest snapshot, standby ones at its position too.

        Returns:
            Whether there was one that was valid.
        """
        found = self.latest_of_any_kind()
        for entry in found:
            self.invalidate(entry)
        return bool(found)

    def latest_of_any_kind(self) -> list[LogEntry]:
        """Return the entries of the newest snapshot, the node's own or a standby one.

        Where there are several at its position, all of them are returned.
        """
        found = list(self._snapshots(_is_valid_any_snapshot))
        newest = max((parts[0].place for parts in found), default=None)
        return [entry for parts in found if parts[0].place == newest for entry in parts]

    def latest_snapshot(self, service_count: int | None = None) -> list[LogEntry]:
        """Return the newest complete snapshot.

        Args:
            service_count: how many services the node has, 0 or more; None takes as many as the
                snapshot has.

        Returns:
            The module's entry, then those of services 0, 1 and so on; empty without a snapshot.
        """
        for found in self._snapshots():
            if service_count is None:
                return found
            if len(found) > service_count:
                return found[: service_count + 1]
        return []

    def snapshot_at_or_before(self, log_position: int, service_count: int) -> list[LogEntry]:
        """Return the newest complete snapshot up to a position, else the oldest one.

        Returns:
            As `latest_snapshot`.
        """
        oldest: list[LogEntry] = []
        for found in self._snapshots():
            if len(found) > service_count:
                oldest = found[: service_count + 1]
                if found[0].log_position <= log_position:
                    break
        return oldest

    def _snapshots(
        self, counts: Callable[[LogEntry], bool] = _is_valid_snapshot
    ) -> Iterator[list[LogEntry]]:
        """Yield snapshots from the newest on: the module's entry, then those of its services."""
        for at in range(len(self.entries) - 1, -1, -1):
            module = self.entries[at]
            if not counts(module) or module.service_id != NULL_VALUE:
                continue
            found = [module]
            for entry in reversed(self.entries[:at]):
                if not counts(entry) or entry.place != module.place:
                    break
                if entry.service_id != len(found) - 1:
                    break
                found.append(entry)
            yield found

    def standby_snapshots(self, service_count: int) -> dict[str, list[LogEntry]]:
        """Return the newest complete standby snapshot of each archive, by its endpoint.

        Each is as those of `latest_snapshot`.
        """
        places: dict[tuple[str, tuple[int, int, int]], list[LogEntry]] = {}
        for entry in self.entries:
            if entry.is_valid and entry.type == EntryType.STANDBY_SNAPSHOT:
                places.setdefault((entry.archive_endpoint, entry.place), []).append(entry)
        found: dict[str, list[LogEntry]] = {}
        for (endpoint, _), entries in places.items():
            entries.sort(key=lambda entry: entry.service_id)
            if [entry.service_id for entry in entries] == list(range(NULL_VALUE, service_count)):
                newest = found.get(endpoint)
                if newest is None or newest[0].log_position < entries[0].log_position:
                    found[endpoint] = entries
        return found

    def ensure_coherent(
        self, term: LogEntry, *, initial_term_id: int = 0, initial_base: int = 0
    ) -> None:
        """Add a term, and those that this node missed before it.

        A term that is in the log already gets its end, if one is given. One before it that is open
        ends where it starts. Where nothing was logged between two terms, a member that was not
        there adds empty terms, so that each term has an entry.

        Args:
            term: the term; its position is its end, -1 while it is open.
            initial_term_id: the first term of the log, for a node without any.
            initial_base: where that term starts, bytes.

        Raises:
            ConfigurationError: the term before it is open, and where it ends is unknown; a term
                that lies before the log's last is missing; or the log is another recording.
        """
        last = self.last_term
        term_id = term.leadership_term_id
        if last is not None:
            self._check_recording(term)
            if last.leadership_term_id >= term_id:
                if term.log_position != NULL_POSITION:
                    self.commit_log_position(term_id, term.log_position)
                return
            if last.log_position == NULL_POSITION:
                if term.term_base_log_position == NULL_POSITION:
                    raise ConfigurationError(
                        f"prior term was not committed: leadershipTermId={last.leadership_term_id},"
                        f" and where leadershipTermId={term_id} starts is unknown: {self.path}"
                    )
                self.commit_log_position(last.leadership_term_id, term.term_base_log_position)
                last = self.last_term or last
            first, base, end = last.leadership_term_id + 1, last.log_position, last.log_position
        else:
            first, base, end = max(0, initial_term_id), initial_base, term.term_base_log_position
        for missed in range(first, term_id):
            position = end if missed == term_id - 1 else base
            self.append(
                replace(
                    term,
                    leadership_term_id=missed,
                    term_base_log_position=base,
                    log_position=position,
                )
            )
        self.append(replace(term, term_base_log_position=end))

    def _exchange(self, old: LogEntry, new: LogEntry) -> None:
        self.entries[self.entries.index(old)] = new
        self._changed()

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change(self)

    def _write(self, data: bytes, offset: int) -> None:
        self._file.write_at(data, offset)
        if self._sync_level > 0:
            self._file.flush(self._sync_level)


def sort_recording_log(cluster_dir: str | Path, files: FileSystem | None = None) -> bool:
    """Rewrite the recording log of a node that is stopped, in the order of terms and positions.

    Returns:
        False when the file was in that order already; nothing is written then.

    Raises:
        FileNotFoundError: the folder has no recording log.
        FileFormatError: the file is damaged.
    """
    files = files or RealFileSystem()
    with RecordingLog(cluster_dir, files=files) as log:
        entries = log.entries
    if all(entry.index == index for index, entry in enumerate(entries)):
        return False
    _rewrite(cluster_dir, entries, files)
    return True


def seed_recording_log(cluster_dir: str | Path, files: FileSystem | None = None) -> bool:
    """Keep of a stopped node's recording log its newest snapshot, as one at the log's start.

    The old file is kept as ``recording.log.bak``.

    Returns:
        False when there is no valid snapshot; nothing is written then.

    Raises:
        FileNotFoundError: the folder has no recording log.
        FileFormatError: the file is damaged.
    """
    files = files or RealFileSystem()
    with RecordingLog(cluster_dir, files=files) as log:
        found = log.latest_snapshot()
    if not found:
        return False
    path = str(Path(cluster_dir) / RECORDING_LOG_NAME)
    files.write_bytes(f"{path}.bak", files.read_bytes(path))
    seeds = [seed_of(entry) for entry in reversed(found)]
    _rewrite(cluster_dir, seeds, files)
    return True


def seed_of(entry: LogEntry) -> LogEntry:
    """Return an entry of a snapshot as one at the log's start."""
    return replace(entry, term_base_log_position=0, log_position=0)


def _rewrite(cluster_dir: str | Path, entries: list[LogEntry], files: FileSystem) -> None:
    """Replace the file by one with these entries, so that a power failure leaves one of the two."""
    path = str(Path(cluster_dir) / RECORDING_LOG_NAME)
    with files.open_data_file(f"{path}.tmp", writable=True, create=True) as file:
        file.set_length(0)
        file.write_at(b"".join(entry.encode() for entry in entries), 0)
        file.flush()
    files.rename(f"{path}.tmp", path)
    files.sync_dir(str(cluster_dir))
