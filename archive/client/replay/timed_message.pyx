"""Messages of recordings with their times, as values that refer to no log."""

from datetime import datetime, timedelta, timezone

cdef object _EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


cdef class TimedMessage:
    """A message of a recording with its time; values only, so it may be kept and pickled.

    Attributes:
        time_ns: nanoseconds since the Unix epoch, of its first frame.
        recording_id: the recording that the message is from.
        position: the position after the message, in the recording's stream.
        payload: a copy of the payload.
        session_id: the recording's session id.
        stream_id: the recording's stream id.
        term_id: the term id of the first frame, to which the fields below belong as well.
        term_offset: the first frame's offset in its term.
        flags: the first frame's flags, 0xC0 for a whole message.
        reserved_value: as the publisher set it.
    """

    def __cinit__(self, *_, **__):
        self.payload = b""

    def __init__(
        self, time_ns, recording_id, position, bytes payload not None, *, session_id=0,
        stream_id=0, term_id=0, term_offset=0, flags=0xC0, reserved_value=0,
    ):
        self.time_ns = time_ns
        self.recording_id = recording_id
        self.position = position
        self.payload = payload
        self.session_id = session_id
        self.stream_id = stream_id
        self.term_id = term_id
        self.term_offset = term_offset
        self.flags = flags
        self.reserved_value = reserved_value

    @property
    def time(self):
        """The time in UTC, to the microsecond."""
        return _EPOCH + timedelta(microseconds=self.time_ns // 1000)

    @property
    def data(self):
        """The payload, under the name that transport messages have for it."""
        return self.payload

    def __bytes__(self):
        return self.payload

    def __len__(self):
        return len(self.payload)

    def _values(self) -> tuple:
        return (
            self.time_ns, self.recording_id, self.position, self.payload, self.session_id,
            self.stream_id, self.term_id, self.term_offset, self.flags, self.reserved_value,
        )

    def __reduce__(self):
        return _restore, self._values()

    def __eq__(self, other):
        return (
            isinstance(other, TimedMessage) and self._values() == (<TimedMessage> other)._values()
        )

    def __hash__(self):
        return hash(self._values())

    def __repr__(self):
        shown = repr(self.payload) if len(self.payload) <= 32 else f"{self.payload[:32]!r}..."
        return (
            f"TimedMessage({self.time.isoformat()}, recording_id={self.recording_id}, "
            f"position={self.position}, {shown}, length={len(self.payload)})"
        )


def _restore(time_ns, recording_id, position, payload, *rest):
    names = ("session_id", "stream_id", "term_id", "term_offset", "flags", "reserved_value")
    return TimedMessage(time_ns, recording_id, position, payload, **dict(zip(names, rest)))
