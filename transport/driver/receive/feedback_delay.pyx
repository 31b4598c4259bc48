"""When a gap is reported, first and again (spec wire-protocol 9.3).

Delays are decided without a clock: whoever asks adds them to its own time.
"""

from libc.math cimport exp, log
from libc.stdint cimport int64_t, uint64_t

from aerolog.transport.errors import ConfigurationError

cdef int64_t MIN_UNICAST_DELAY_NS = 1000
_LONGEST_NS = (1 << 62) - 1


cdef class FeedbackDelay:
    """Base: how long a receiver waits before it reports a gap, and before it does so again.

    Native subclasses override both methods; the base reports at once, always.
    """
    cdef int64_t first_delay_ns(self) noexcept nogil:
        return 0

    cdef int64_t retry_delay_ns(self) noexcept nogil:
        return 0

    def first(self) -> int:
        """Delay of the first report of a gap, in ns, 0 or more."""
        return self.first_delay_ns()

    def retry(self) -> int:
        """Delay of the next report of a gap that is still open, in ns, 0 or more."""
        return self.retry_delay_ns()


cdef class StaticDelay(FeedbackDelay):
    """Delays that never change."""
    def __init__(self, first_ns: int, retry_ns: int) -> None:
        for value in (first_ns, retry_ns):
            if not 0 <= value <= _LONGEST_NS:
                raise ConfigurationError(
                    f"a delay of {value} ns cannot be kept; use 0 to {_LONGEST_NS}"
                )
        self._first_ns = first_ns
        self._retry_ns = retry_ns

    @classmethod
    def unicast(
        cls, delay_ns: int = 1000, retry_ratio: int = 100, nak_delay_ns: int | None = None
    ) -> StaticDelay:
        """The delay of the driver, or the channel's `nak-delay` in its place.

        Args:
            delay_ns: `aeron.nak.unicast.delay`; below 1 us counts as 1 us.
            retry_ratio: `aeron.nak.unicast.retry.delay.ratio`, 1 or more.
            nak_delay_ns: the channel's `nak-delay`, 0 or more.

        Raises:
            ConfigurationError: a ratio below 1, or a delay below 0 or longer than int64 when
                multiplied.
        """
        if retry_ratio < 1:
            raise ConfigurationError(f"retry delay ratio is {retry_ratio}; use 1 or more")
        first = max(delay_ns, MIN_UNICAST_DELAY_NS) if nak_delay_ns is None else nak_delay_ns
        return cls(first, max(first, MIN_UNICAST_DELAY_NS) * retry_ratio)

    @classmethod
    def unreliable(cls) -> StaticDelay:
        """No delay: gaps of a stream that is not reliable are filled at once."""
        return cls(0, 0)

    cdef int64_t first_delay_ns(self) noexcept nogil:
        return self._first_ns

    cdef int64_t retry_delay_ns(self) noexcept nogil:
        return self._retry_ns


cdef class OptimalMulticastDelay(FeedbackDelay):
    """Random delays by which one receiver of a group speaks for most."""
    def __init__(
        self, seed: int, max_backoff_ns: int = 10_000_000, group_size: int = 10
    ) -> None:
        """The same seed gives the same delays.

        Args:
            seed: of the random source, any integer; its low 64 bits count.
            max_backoff_ns: `aeron.nak.multicast.max.backoff`, the longest delay, 1 or more.
            group_size: `aeron.nak.multicast.group.size`, 1 or more.

        Raises:
            ConfigurationError: a value out of range.
        """
        if not 1 <= max_backoff_ns <= _LONGEST_NS:
            raise ConfigurationError(f"longest backoff is {max_backoff_ns} ns; use 1 or more")
        if not 1 <= group_size <= 2**31 - 1:
            raise ConfigurationError(f"group size is {group_size}; use 1 to {2**31 - 1}")
        rate = log(<double> group_size) + 1.0
        self._state = seed & 0xFFFF_FFFF_FFFF_FFFF
        self._span = rate / <double> max_backoff_ns
        self._scale = exp(rate) - 1.0

    cdef int64_t first_delay_ns(self) noexcept nogil:
        cdef double x = _uniform(&self._state) * self._span + self._span / self._scale
        cdef double delay = log(x * self._scale / self._span) / self._span
        # Rounding may bring the lowest draw just under zero.
        return <int64_t> delay if delay > 0.0 else 0

    cdef int64_t retry_delay_ns(self) noexcept nogil:
        return self.first_delay_ns()


cdef double _uniform(uint64_t* state) noexcept nogil:
    """A draw from [0, 1): the splitmix64 sequence, 53 bits of each word."""
    cdef uint64_t word
    state[0] += <uint64_t> 0x9E3779B97F4A7C15
    word = state[0]
    word = (word ^ (word >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    word = (word ^ (word >> 27)) * <uint64_t> 0x94D049BB133111EB
    word ^= word >> 31
    return <double> (word >> 11) * (1.0 / 9007199254740992.0)
