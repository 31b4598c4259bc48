from typing import Self

class FeedbackDelay:
    """Base: how long a receiver waits before it reports a gap, and before it does so again.

    Native subclasses override both methods; the base reports at once, always.
    """

    def first(self) -> int:
        """Delay of the first report of a gap, in ns, 0 or more."""

    def retry(self) -> int:
        """Delay of the next report of a gap that is still open, in ns, 0 or more."""

class StaticDelay(FeedbackDelay):
    """Delays that never change."""

    def __init__(self, first_ns: int, retry_ns: int) -> None: ...
    @classmethod
    def unicast(
        cls, delay_ns: int = 1000, retry_ratio: int = 100, nak_delay_ns: int | None = None
    ) -> Self:
        """The delay of the driver, or the channel's `nak-delay` in its place.

        Args:
            delay_ns: `aeron.nak.unicast.delay`; below 1 us counts as 1 us.
            retry_ratio: `aeron.nak.unicast.retry.delay.ratio`, 1 or more.
            nak_delay_ns: the channel's `nak-delay`, 0 or more.

        Raises:
            ConfigurationError: a ratio below 1, or a delay below 0 or longer than int64 when
                multiplied.
        """

    @classmethod
    def unreliable(cls) -> Self:
        """No delay: gaps of a stream that is not reliable are filled at once."""

class OptimalMulticastDelay(FeedbackDelay):
    """Random delays by which one receiver of a group speaks for most."""

    def __init__(self, seed: int, max_backoff_ns: int = 10_000_000, group_size: int = 10) -> None:
        """The same seed gives the same delays.

        Args:
            seed: of the random source, any integer; its low 64 bits count.
            max_backoff_ns: `aeron.nak.multicast.max.backoff`, the longest delay, 1 or more.
            group_size: `aeron.nak.multicast.group.size`, 1 or more.

        Raises:
            ConfigurationError: a value out of range.
        """
