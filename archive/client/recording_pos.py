"""Counters that say how far a recording is (spec client 25, archive-protocol 19.1)."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aerolog.transport.errors import AeronTimeoutError, ResourceClosedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.transport.memory.counters import CounterSnapshot, CountersReader

RECORDING_POSITION_TYPE_ID: Final = 100
_POLL_S: Final = 0.001
_HEAD = struct.Struct("<qii")
_ARCHIVE_ID = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class RecordingPositionKey:
    """Key of a recording's position counter.

    Attributes:
        archive_id: None in counters of archives too old to say.
    """

    recording_id: int
    session_id: int
    source_identity: str
    archive_id: int | None

    @classmethod
    def decode(cls, key: bytes) -> RecordingPositionKey | None:
        """The key's parts, None when its lengths do not fit."""
        if len(key) < _HEAD.size:
            return None
        recording_id, session_id, length = _HEAD.unpack_from(key)
        end = _HEAD.size + length
        if length < 0 or end > len(key):
            return None
        archive_id = None
        if end + _ARCHIVE_ID.size <= len(key):
            (archive_id,) = _ARCHIVE_ID.unpack_from(key, end)
        source = key[_HEAD.size : end].decode("ascii", "replace")
        return cls(recording_id, session_id, source, archive_id)


def _positions(
    counters: CountersReader,
) -> Iterator[tuple[CounterSnapshot, RecordingPositionKey]]:
    for counter in counters:
        if counter.type_id == RECORDING_POSITION_TYPE_ID:
            key = RecordingPositionKey.decode(counter.key)
            if key is not None:
                yield counter, key


def find_by_recording(
    counters: CountersReader, recording_id: int, archive_id: int | None = None
) -> int | None:
    """Counter of an active recording, None when there is none.

    Args:
        counters: of the archive's driver.
        recording_id: which recording.
        archive_id: where several archives share a driver; None or -1 matches any.
    """
    for counter, key in _positions(counters):
        if key.recording_id == recording_id and _same_archive(key, archive_id):
            return counter.counter_id
    return None


def find_by_session(
    counters: CountersReader, session_id: int, archive_id: int | None = None
) -> int | None:
    """As find_by_recording, by the session that is recorded."""
    for counter, key in _positions(counters):
        if key.session_id == session_id and _same_archive(key, archive_id):
            return counter.counter_id
    return None


def _same_archive(key: RecordingPositionKey, archive_id: int | None) -> bool:
    return archive_id in {None, -1} or key.archive_id == archive_id


def key_of(counters: CountersReader, counter_id: int) -> RecordingPositionKey | None:
    """The key of a counter, None when it is no recording position."""
    counter = counters.snapshot(counter_id)
    if counter is None or counter.type_id != RECORDING_POSITION_TYPE_ID:
        return None
    return RecordingPositionKey.decode(counter.key)


def is_active(counters: CountersReader, counter_id: int, recording_id: int) -> bool:
    """Whether a counter still belongs to a recording: ids are reused."""
    key = key_of(counters, counter_id)
    return key is not None and key.recording_id == recording_id


class RecordingPosition:
    """How far one active recording is.

    Attributes:
        counter_id: of the counter.
        recording_id: of the recording.
    """

    def __init__(self, counters: CountersReader, counter_id: int, recording_id: int) -> None:
        self.counter_id = counter_id
        self.recording_id = recording_id
        self._counters = counters

    @property
    def is_active(self) -> bool:
        """Whether the recording goes on."""
        return is_active(self._counters, self.counter_id, self.recording_id)

    @property
    def value(self) -> int:
        """Bytes of the stream that are recorded.

        Raises:
            ResourceClosedError: the recording has ended.
        """
        position = self._counters.counter_value(self.counter_id)
        if not self.is_active:
            raise ResourceClosedError(f"recording {self.recording_id} is not active any more")
        return position

    def wait(self, position: int, timeout: float | None = None) -> int:
        """Wait until everything up to a position is recorded; the position reached.

        Raises:
            AeronTimeoutError: it was not in ``timeout`` seconds.
            ResourceClosedError: the recording has ended.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (reached := self.value) < position:
            if deadline is not None and time.monotonic() > deadline:
                raise AeronTimeoutError(
                    f"recording {self.recording_id} is at {reached}, not at {position}, "
                    f"after {timeout:g} s"
                )
            time.sleep(_POLL_S)
        return reached
