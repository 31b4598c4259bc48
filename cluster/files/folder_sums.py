"""Checksums of what a node starts from: its recording log and its snapshots.

They stand in ``aerolog/checksums-OWNER.json`` in the cluster's folder, one file for the consensus
module and one for each service, and change nothing of the reference's files. The reference has no
such checksums. A file that is missing or damaged costs the check and nothing else: what is found
then counts as right, and is covered from then on.

Of the recording log the bytes themselves are kept, because only by them can a change that tools and
the reference's nodes make be told from damage. They are written after the log and after it was
forced to the disk, so that what is covered is never newer than what is there.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerolog.cluster.files.layout import RECORDING_LOG_NAME
from aerolog.cluster.files.recording_log import (
    EntryType,
    LogEntry,
    read_recording_log,
    seed_of,
    walk_recording_log,
)
from aerolog.cluster.protocol import NULL_POSITION
from aerolog.transport.errors import AerologError, FileFormatError
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT

if TYPE_CHECKING:
    from aerolog.cluster.files.recording_log import RecordingLog

SUMS_FOLDER: Final = "aerolog"
#: The owner of the consensus module's checksums.
SUMS_OF_MODULE: Final = "module"
#: How the names of the files begin.
SUMS_PREFIX: Final = "checksums-"
_VERSION: Final = 1
#: Bytes of a file of checksums; a longer one is none.
_LENGTH_MAX: Final = 16 * 1024 * 1024
#: Snapshots whose checksums are kept, the newest ones.
_SNAPSHOTS_MAX: Final = 200
_ADVICE: Final = (
    "restore it from a copy; or, if it is as it is to be, have the node go on with it: aerolog"
    " cluster accept"
)


class MessageSum:
    """A checksum over the messages of a snapshot, in their order.

    Attributes:
        count: how many messages it covers.
        length: their bytes.
        crc: CRC-32 of them, each with its length before it.
    """

    def __init__(self) -> None:
        self.count = self.length = self.crc = 0

    def add(self, data: bytes | memoryview) -> None:
        """Take the next message."""
        size = len(data)
        self.crc = zlib.crc32(data, zlib.crc32(size.to_bytes(8, "little"), self.crc))
        self.count += 1
        self.length += size

    @property
    def values(self) -> list[int]:
        """What is stored of it."""
        return [self.count, self.length, self.crc]


class SnapshotCheck(MessageSum):
    """Compares the messages of a snapshot that is read with those that were written.

    Attributes:
        is_covered: whether there is a checksum of it.
        is_wrong: whether the messages so far are others than were written.
    """

    def __init__(self, where: str, covered: list[int] | None) -> None:
        super().__init__()
        self._where = where
        self._covered = covered
        self.is_covered = covered is not None
        self.is_wrong = False

    def add(self, data: bytes | memoryview) -> None:
        """Take the next message; more than were written are none of the check's."""
        super().add(data)
        if self._covered is not None and self.count == self._covered[0]:
            self.is_wrong = self.values != self._covered

    @property
    def is_complete(self) -> bool:
        """Whether all messages that were written have been read."""
        return self._covered is None or self.count >= self._covered[0]

    def check(self) -> None:
        """Check the messages, once all were read.

        Raises:
            FileFormatError: they are not those that were written.
        """
        if self.is_wrong or not self.is_complete:
            assert self._covered is not None
            raise FileFormatError(
                f"the snapshot in {self._where} is not what was written: {self.count} messages with"
                f" {self.length} bytes and checksum {self.crc:08x}, where {self._covered[0]} with"
                f" {self._covered[1]} and {self._covered[2]:08x} are right: have the node start"
                " from the snapshot before it (aerolog cluster-tool DIR"
                f" invalidate-latest-snapshot), or {_ADVICE} DIR"
            )


class FolderSums:
    """The checksums of one owner.

    Args:
        cluster_dir: the cluster's folder, which exists.
        owner: whose they are, a part of the file's name: `SUMS_OF_MODULE`, or ``service-N``.
        files: the file system to use.

    Attributes:
        path: the file.
    """

    def __init__(
        self, cluster_dir: str | Path, owner: str, files: FileSystem | None = None
    ) -> None:
        self._files = files or RealFileSystem()
        self._folder = str(Path(cluster_dir) / SUMS_FOLDER)
        self.path = str(Path(self._folder) / f"{SUMS_PREFIX}{owner}.json")
        self._log_path = str(Path(cluster_dir) / RECORDING_LOG_NAME)
        content = self._load()
        self._log: bytes | None = content.get("recording_log")
        self._snapshots: dict[str, list[int]] = content.get("snapshots", {})

    # -- the recording log -------------------------------------------------------------------------

    def check_log(self, log: RecordingLog) -> str:
        """Compare a recording log with what is covered of it.

        Returns:
            What has changed, in words; empty when nothing has, or nothing is covered.

        Raises:
            FileFormatError: it was changed otherwise than nodes and tools change it.
        """
        if self._log is None:
            return ""
        data = log.read()
        if data == self._log:
            return ""
        unlike = _unlike(self._log, data)
        if unlike is None or self._is_seeded(data):
            return (
                f"{log.path} was changed while no node of aerolog ran, as tools, the reference's"
                " node or a crash change it: it counts as it is now"
            )
        if unlike < 0:
            return (
                f"{log.path} lacks entries that it had, as an older copy does: what they said is"
                " lost, the log and the snapshots are in the archive"
            )
        raise FileFormatError(
            f"{log.path} is damaged at offset {unlike}: the entry there is not the one that was"
            f" written; {_ADVICE} {Path(log.path).parent}"
        )

    def cover_log(self, log: RecordingLog) -> None:
        """Cover a recording log as it is now, once it is on the disk."""
        self._log = log.durable()
        self._store()

    def _is_seeded(self, data: bytes) -> bool:
        """Whether a tool has kept of the log the newest snapshot, beside a copy of the old one."""
        assert self._log is not None
        backup = f"{self._log_path}.bak"
        if not self._files.exists(backup):
            return False
        try:
            old = self._files.read_bytes(backup)
            seeds = {seed_of(entry).encode() for entry in read_recording_log(old)[0]}
        except (AerologError, OSError):
            return False
        found = {entry.encode() for entry in read_recording_log(data)[0]}
        return found <= seeds and _unlike(self._log, old) is None

    # -- snapshots ---------------------------------------------------------------------------------

    def cover_snapshot(
        self, recording_id: int, term_id: int, position: int, sum_: MessageSum
    ) -> None:
        """Cover a snapshot that was written, or read for the first time."""
        self._snapshots.pop(str(recording_id), None)
        self._snapshots[str(recording_id)] = [term_id, position, *sum_.values]
        for oldest in list(self._snapshots)[:-_SNAPSHOTS_MAX]:
            del self._snapshots[oldest]
        self._store()

    def snapshot_check(self, recording_id: int, term_id: int, position: int) -> SnapshotCheck:
        """Return what compares a snapshot that is read with the one that was written.

        A recording of another term or position is another snapshot, and not covered: the archive
        may be another one.
        """
        found = self._snapshots.get(str(recording_id))
        covered = found[2:] if found is not None and found[:2] == [term_id, position] else None
        return SnapshotCheck(f"recording {recording_id} of the archive", covered)

    # -- the file ----------------------------------------------------------------------------------

    def _load(self) -> dict[str, Any]:
        files = self._files
        try:
            if not files.exists(self.path) or files.size(self.path) > _LENGTH_MAX:
                return {}
            text, crc, *_ = files.read_bytes(self.path).split(b"\n")
            if int(crc, 16) != zlib.crc32(text):
                return {}
            content = json.loads(text)
            if content["version"] != _VERSION:
                return {}
            log = content["recording_log"]
            return {
                "recording_log": None if log is None else base64.b64decode(log, validate=True),
                "snapshots": {
                    str(key): [int(value) for value in values]
                    for key, values in content["snapshots"].items()
                    if len(values) == 5
                },
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, AerologError):
            return {}

    def _store(self) -> None:
        files, temporary = self._files, f"{self.path}.tmp"
        log = None if self._log is None else base64.b64encode(self._log).decode()
        content = {"version": _VERSION, "recording_log": log, "snapshots": self._snapshots}
        text = json.dumps(content, separators=(",", ":")).encode()
        is_new = not files.exists(self._folder)
        files.make_dirs(self._folder)
        with files.open_data_file(temporary, writable=True, create=True) as file:
            file.set_length(0)
            file.write_at(b"%s\n%08x\n" % (text, zlib.crc32(text)), 0)
            file.flush()
        files.rename(temporary, self.path)
        files.sync_dir(self._folder)
        if is_new:
            files.sync_dir(str(Path(self._folder).parent))


def files_of_sums(cluster_dir: str | Path, files: FileSystem | None = None) -> list[str]:
    """Return the files of checksums in a cluster's folder."""
    files = files or RealFileSystem()
    folder = str(Path(cluster_dir) / SUMS_FOLDER)
    if not files.is_dir(folder):
        return []
    names = sorted(name for name in files.list_dir(folder) if name.startswith(SUMS_PREFIX))
    return [str(Path(folder) / name) for name in names]


def remove_sums(cluster_dir: str | Path, files: FileSystem | None = None) -> None:
    """Remove the files of checksums, so that a node starts from what it finds."""
    files = files or RealFileSystem()
    for path in files_of_sums(cluster_dir, files):
        files.remove(path)
    files.sync_dir(str(Path(cluster_dir) / SUMS_FOLDER))


# -- what may become of an entry -------------------------------------------------------------------


def _unlike(covered: bytes, data: bytes) -> int | None:
    """Find the first covered entry that is not in a recording log any more.

    Returns:
        Its offset; None when all are there; -1 when the file ends before those that are not.
    """
    here = {offset: (entry, length) for offset, length, entry in walk_recording_log(data)}
    end = max((offset + length for offset, (_, length) in here.items()), default=0)
    others = [entry for entry, _ in here.values() if entry is not None]
    is_cut = False
    for offset, length, old in walk_recording_log(covered):
        new, new_length = here.get(offset, (None, 0))
        if old is None:
            continue  # it was removed already
        if new is None and new_length == length:
            continue  # it is removed now
        if new is not None and _may_become(old, new):
            continue
        if any(_may_become(old, other) for other in others):
            continue  # it was moved: the log was sorted
        if offset < end:
            return offset
        is_cut = True
    return -1 if is_cut else None


def _may_become(old: LogEntry, new: LogEntry) -> bool:
    """Whether a node or a tool may have made one entry of the other.

    Entries are invalidated, an open term gets its end, an older copy has none, and a snapshot takes
    the place of an invalidated one.
    """
    new = replace(new, index=old.index, offset=old.offset)
    if new in (old, replace(old, is_valid=False)):
        return True
    if old.type == EntryType.TERM:
        is_ended = old.log_position == NULL_POSITION and _is_end(new)
        is_older = new.log_position == NULL_POSITION
        ended = replace(old, log_position=new.log_position)
        return (is_ended or is_older) and new in (ended, replace(ended, is_valid=False))
    is_another = old.recording_id != new.recording_id and old.timestamp != new.timestamp
    was_taken_again = not old.is_valid and old.recording_id != new.recording_id
    is_here = (old.type, old.service_id, old.place, old.length) == (
        *(new.type, new.service_id, new.place, new.length),
    )
    return is_here and (is_another or was_taken_again)


def _is_end(term: LogEntry) -> bool:
    """Whether a term can end where its entry says."""
    end = term.log_position
    return end >= term.term_base_log_position and end % FRAME_ALIGNMENT == 0


def owner_of_service(service_id: int) -> str:
    """Return the owner of a service's checksums."""
    return f"service-{service_id}"
