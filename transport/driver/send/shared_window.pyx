"""What all streams of a send endpoint may have under way, and send again (decision 0007).

The streams of an endpoint share the receiver's socket buffer, while flow control knows each one's
window only. When a thousand windows together overflow the buffer, every stream asks for its window
again at once, the answers overflow it anew, and nothing moves any more. So the endpoint watches
what becomes of what it sends again: when that is much beside what receivers consume, it is sending
into a full buffer, and halves what may be under way in all; else that grows again, slowly. Loss of
up to a tenth, evenly spread, changes nothing, and a stream that is alone is never limited: its own
window always fits.

It also bounds what small datagrams that ask for ever other ranges can cause. Nothing is lost by a
refusal: what is missing is asked for again.
"""

from libc.stdint cimport INT64_MAX, int64_t

cdef enum:
    # Parts of the limit that it grows by in a period: twice as much after 220 ms, 440 ms, 7 s.
    START_GROWTH = 32
    GROWTH = 64
    PROBING_GROWTH = 1024


cdef class SharedWindow:
    """Shared by the streams of one send endpoint; the sender's thread calls everything.

    Attributes:
        in_flight: bytes sent and not consumed yet, as far as receivers have said.
        longest: the widest window that a stream had, in bytes.
    """

    def __cinit__(self):
        self._limit = SHARED_START
        self._period_end_ns = -INT64_MAX
        self._judged_at_ns = -INT64_MAX // 2

    cdef int64_t _current(self) noexcept nogil:
        # A stream that is alone is not limited: its own window fits.
        return max(self._limit, self.longest)

    cdef int64_t room(self, int64_t now_ns) noexcept nogil:
        if now_ns >= self._period_end_ns:
            self._next_period(now_ns)
        # Streams that wait for what was lost must not hold up all others for good.
        return max(self._current() - self.in_flight, self.longest - self._sent)

    cdef void sent(self, int64_t length) noexcept nogil:
        self._sent += length
        self.in_flight += length
        self._peak = max(self._peak, self.in_flight)

    cdef void consumed(self, int64_t length, int64_t window) noexcept nogil:
        self.in_flight -= length
        self._consumed += length
        self.longest = max(self.longest, window)

    cdef void forget(self, int64_t length) noexcept nogil:
        self.in_flight -= length

    cdef bint grant(self, int64_t length, int64_t longest, int64_t now_ns) noexcept nogil:
        cdef int64_t allowed
        if now_ns >= self._period_end_ns:
            self._next_period(now_ns)
        allowed = self._current() if self._overflowed_at > 0 else RESEND_FLOOR
        if self._granted + length > max(allowed, longest):
            return False
        self._granted += length
        return True

    cdef void _next_period(self, int64_t now_ns) noexcept nogil:
        self._granted_since += self._granted
        self._consumed_since += self._consumed
        self._peak_since = max(self._peak_since, self._peak)
        if self._peak >= self._current() // 2 and self._limit < SHARED_MOST:
            self._limit += self._limit // self._growth()
        if now_ns - self._judged_at_ns >= SHARED_JUDGED_NS:
            self._judge()
            self._judged_at_ns = now_ns
        self._peak = self.in_flight
        self._sent = 0
        self._granted = 0
        self._consumed = 0
        self._period_end_ns = now_ns + SHARED_PERIOD_NS

    cdef void _judge(self) noexcept nogil:
        cdef int64_t fruitful = self._consumed_since // 8
        # Held back, streams move by what they are sent again alone.
        if self.in_flight >= self._current():
            fruitful = 2 * self._consumed_since
        if self._granted_since > fruitful + self.longest:
            self._overflowed_at = min(self._limit, self._peak_since)
            self._limit = max(self._overflowed_at // 2, <int64_t> SHARED_LEAST)
        self._granted_since = 0
        self._consumed_since = 0
        self._peak_since = 0

    cdef int64_t _growth(self) noexcept nogil:
        if self._overflowed_at == 0:
            return START_GROWTH
        # Slowly where it went wrong the last time.
        return GROWTH if self._limit < self._overflowed_at // 4 * 3 else PROBING_GROWTH

    @property
    def limit(self):
        """How much may be under way now, in bytes."""
        return self._current()

    def on_sent(self, length: int) -> None:
        """A stream has sent bytes for the first time."""
        self.sent(length)

    def on_consumed(self, length: int, window: int) -> None:
        """Receivers of a stream with such a window have consumed bytes of what is under way."""
        self.consumed(length, window)

    def on_forgotten(self, length: int) -> None:
        """A stream lets go of bytes under way: nobody receives them any more."""
        self.forget(length)

    def room_at(self, now_ns: int) -> int:
        """Bytes that a stream may send now; 0 or less for none."""
        return self.room(now_ns)

    def grant_at(self, length: int, longest: int, now_ns: int) -> bool:
        """Whether bytes may be sent again now; the longest retransmission fits any period."""
        return self.grant(length, longest, now_ns)
