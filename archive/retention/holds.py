"""Holds, which keep all of a recording whatever the policies say.

The holds are in one JSON file that is replaced as a whole, and each change is in the journal too. A
hold that is in either of them is in force, so that the loss of the file loses no hold. While the
file cannot be read, nothing of any recording is deleted.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from aerolog.archive.retention.errors import HoldsDamagedError, RetentionError
from aerolog.archive.retention.facts import Need
from aerolog.archive.retention.journal import HOLD, RELEASE, Journal
from aerolog.archive.retention.retention_folder import (
    folder_path,
    holds_path,
    lock_within,
    reserve_room,
    step_lock_path,
    with_room,
)
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.memory.filesystem import FileSystem, RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aerolog.transport.concurrent.clock import Clock

VERSION: Final = 1
REASON_MAX: Final = 1024
#: Kind of the need of a hold.
HOLD_NEED: Final = "hold"
_STEP_PATIENCE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Hold:
    """A reason to keep a recording.

    Attributes:
        recording_id: the recording that is held.
        reason: description for people; a recording may be held for several reasons.
        until_ms: when the hold expires, epoch milliseconds; None for never.
        since_ms: when it began, epoch milliseconds.
    """

    recording_id: int
    reason: str
    until_ms: int | None = None
    since_ms: int = 0

    def is_over(self, now_ms: int) -> bool:
        """Return whether the hold has expired."""
        return self.until_ms is not None and now_ms >= self.until_ms

    def need(self) -> Need:
        """Return the need that a plan respects for this hold."""
        return Need(self.recording_id, 0, HOLD_NEED, f"held: {self.reason}")


class Holds:
    """The holds of an archive's folder, as of their opening or last change.

    Iteration yields them by recording.
    """

    def __init__(
        self, archive_dir: str | Path, files: FileSystem, holds: tuple[Hold, ...], clock: Clock
    ) -> None:
        self.archive_dir = archive_dir
        self._files = files
        self._clock = clock
        self._holds = holds

    @classmethod
    def open(
        cls,
        archive_dir: str | Path,
        files: FileSystem | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """Read the holds of a folder; without file and journal there are none.

        Args:
            archive_dir: the archive's folder.
            files: the file system to use, the real one by default.
            clock: says when holds are changed, the system's by default.

        Raises:
            HoldsDamagedError: the file cannot be read.
            JournalDamagedError: the journal has an unknown version.
        """
        files = files or RealFileSystem()
        return cls(archive_dir, files, _read(archive_dir, files), clock or SystemClock())

    def __iter__(self) -> Iterator[Hold]:
        return iter(self._holds)

    def __len__(self) -> int:
        return len(self._holds)

    def of(self, recording_id: int, now_ms: int) -> list[Hold]:
        """Return the holds of a recording that have not expired."""
        return [
            hold
            for hold in self._holds
            if hold.recording_id == recording_id and not hold.is_over(now_ms)
        ]

    def add(
        self,
        recording_id: int,
        reason: str,
        until_ms: int | None = None,
        *,
        now_ms: int | None = None,
    ) -> Hold:
        """Hold a recording; an existing hold for the same reason gets the new expiry.

        The hold is in force when this method returns: a deletion step that began before has ended
        by then.

        Args:
            recording_id: the recording to hold.
            reason: description for people.
            until_ms: when the hold expires, epoch milliseconds; None for never.
            now_ms: the present time; the clock's by default.

        Raises:
            RetentionError: the reason is empty or too long, or a step of a run does not end.
            HoldsDamagedError: the existing holds cannot be read.
            OSError: the file cannot be written; nothing has changed.
        """
        now_ms = self._clock.now_epoch_ms() if now_ms is None else now_ms
        if not 0 < len(reason.strip()) <= REASON_MAX:
            raise RetentionError(f"a hold needs a reason, of at most {REASON_MAX} characters")
        if until_ms is not None and until_ms <= now_ms:
            raise RetentionError("the hold would be over already: its end is not after now")
        if recording_id < 0:
            raise RetentionError(f"{recording_id} is no recording id")
        hold = Hold(recording_id, reason, until_ms, now_ms)
        with self._changing():
            others = [one for one in self._holds if (one.recording_id, one.reason) != _key(hold)]
            self._replace((*others, hold), now_ms, HOLD, asdict(hold))
        return hold

    def remove(
        self, recording_id: int, reason: str | None = None, *, now_ms: int | None = None
    ) -> list[Hold]:
        """Release a recording from the hold with a reason, or from all holds.

        Returns:
            The released holds; the list is empty when the recording was not held.

        Raises:
            RetentionError: a step of a run does not end.
            HoldsDamagedError: the existing holds cannot be read.
            OSError: the file cannot be written; nothing has changed.
        """
        now_ms = self._clock.now_epoch_ms() if now_ms is None else now_ms
        with self._changing():
            gone = [
                one
                for one in self._holds
                if one.recording_id == recording_id and reason in (None, one.reason)
            ]
            if gone:
                kept = tuple(one for one in self._holds if one not in gone)
                fields = {"recording_id": recording_id, "reason": reason}
                self._replace(kept, now_ms, RELEASE, fields)
        return gone

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Read the present holds and block other changes and deletion steps meanwhile."""
        with step_lock(self.archive_dir, self._files, self._clock):
            self._holds = _read(self.archive_dir, self._files)
            yield

    def _replace(
        self, holds: tuple[Hold, ...], now_ms: int, event: str, fields: dict[str, Any]
    ) -> None:
        holds = tuple(sorted(holds, key=_key))
        data = {"version": VERSION, "holds": [asdict(hold) for hold in holds]}
        # After a crash in between, a hold may stay unreleased or be set although add() failed.
        content = json.dumps(data, indent=1).encode() + b"\n"
        with_room(
            self.archive_dir,
            self._files,
            lambda: _write_whole(self._files, self.archive_dir, content),
        )
        Journal.open(self.archive_dir, self._files).append(event, now_ms, **fields)
        reserve_room(self.archive_dir, self._files)
        self._holds = holds


@contextmanager
def step_lock(
    archive_dir: str | Path, files: FileSystem, clock: Clock | None = None
) -> Iterator[None]:
    """Hold the lock under which holds are changed and deletion steps are carried out.

    Raises:
        RetentionError: another process does not release the lock in time.
        NoRoomError: the disk is full, and no room is reserved.
        OSError: the folder is not writable.
    """
    path = step_lock_path(archive_dir)
    lock = lock_within(_STEP_PATIENCE_S, archive_dir, path, files, clock)
    if lock is None:
        raise RetentionError(
            f"a step of a run in {archive_dir} does not end: see aerolog retention status"
        )
    with lock:
        yield


def _key(hold: Hold) -> tuple[int, str]:
    return (hold.recording_id, hold.reason)


def _read(archive_dir: str | Path, files: FileSystem) -> tuple[Hold, ...]:
    """Return the holds of file and journal; a hold in either of them is in force."""
    known = Journal.open(archive_dir, files).state.holds
    found = {_key(hold): hold for hold in map(_hold, known.values())}
    path = holds_path(archive_dir)
    try:
        data = json.loads(files.read_bytes(path))
        version = data["version"]
        rows = [_hold(one) for one in data["holds"]] if version == VERSION else []
    except FileNotFoundError:
        version, rows = VERSION, []
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise HoldsDamagedError(
            f"{path} cannot be read ({error}): until then nothing is deleted; put it right, or"
            f" remove it, which leaves the {len(found)} holds that the journal knows"
        ) from error
    if version != VERSION:
        raise HoldsDamagedError(
            f"{path} is of version {version}, this aerolog reads {VERSION}: install a newer one"
        )
    found.update({_key(hold): hold for hold in rows})
    return tuple(sorted(found.values(), key=_key))


def _hold(row: Any) -> Hold:
    recording_id, reason, until, since = (
        row["recording_id"],
        row["reason"],
        row.get("until_ms"),
        row.get("since_ms", 0),
    )
    whole = isinstance(recording_id, int) and not isinstance(recording_id, bool)
    if not whole or not isinstance(reason, str) or not isinstance(since, int):
        raise ValueError(f"no hold: {row}")
    if until is not None and not isinstance(until, int):
        raise ValueError(f"no end of a hold: {until}")
    return Hold(recording_id, reason, until, since)


def _write_whole(files: FileSystem, archive_dir: str | Path, data: bytes) -> None:
    path = holds_path(archive_dir)
    new = path + ".new"
    if files.exists(new):
        files.remove(new)
    with files.open_data_file(new, writable=True, create=True, exclusive=True) as file:
        file.write_at(data, 0)
        file.flush(2)
    files.rename(new, path)
    files.sync_dir(folder_path(archive_dir))
