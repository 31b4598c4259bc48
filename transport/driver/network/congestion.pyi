from typing import ClassVar, Final

from aerolog.transport.memory.mapped_file import MappedFile

RTT_MAX_NS: Final[int]

def max_window_for(receiver_window: int, term_length: int) -> int:
    """The largest window of an image: what the receiver has, half a term at most, in bytes."""

class CongestionControl:
    """Decides how much a sender may have on its way to one image.

    Native strategies subclass this and override its `cdef` methods (see congestion.pxd); Python
    ones subclass `PythonCongestionControl`. Every window is at least 0 and at most `max_window`.
    The Python methods here call the native ones.

    Attributes:
        counter_names: counters the driver makes for the image, at most two, in the order in
            which `bind_counters` takes them.
        error: what stopped a Python strategy, None as long as it works.
    """

    counter_names: ClassVar[tuple[str, ...]]
    error: BaseException | None

    def bind_counters(self, values: MappedFile, *offsets: int) -> None:
        """Show the strategy's numbers in counters: an offset in `values` a counter name.

        Raises:
            ConfigurationError: more offsets than two, or one outside the file or not aligned.
        """

    @property
    def initial_window(self) -> int: ...
    @property
    def max_window(self) -> int: ...
    def rebuilt(
        self,
        now_ns: int,
        *,
        loss_found: bool = False,
        consumption_position: int = 0,
        status_position: int = 0,
        hwm_position: int = 0,
        rebuild_start: int = 0,
        rebuild_end: int = 0,
    ) -> tuple[int, bool]:
        """One rebuild step: the window in bytes, and whether to force a status message."""

    def should_measure_rtt(self, now_ns: int) -> bool: ...
    def rtt_requested(self, now_ns: int) -> None: ...
    def rtt_measured(self, now_ns: int, rtt_ns: int) -> None: ...

class StaticWindow(CongestionControl):
    """The same window always."""

    def __init__(self, receiver_window: int, term_length: int) -> None: ...

class Cubic(CongestionControl):
    """CUBIC with C = 0.4 and B = 0.2, counted in segments of the sender's MTU."""

    def __init__(
        self,
        receiver_window: int,
        term_length: int,
        mtu: int,
        now_ns: int,
        *,
        initial_rtt_ns: int = 100_000,
        measure_rtt: bool = False,
        tcp_mode: bool = False,
    ) -> None:
        """Raises ConfigurationError for a length or time that is not positive."""

    @property
    def rtt_ns(self) -> int:
        """The estimate of the round trip."""

class PythonCongestionControl(CongestionControl):
    """Base of strategies written in Python.

    Override `track_rebuild`, and the three round-trip methods when the strategy measures. They
    are called with the GIL on the conductor's (track_rebuild) and the receiver's thread. An
    exception, or a result that is no `(window, force)`, stops the strategy for this image: it
    is kept in `error`, and the window stays what it was. Windows are cut to 0..max_window.
    """

    def __init__(self, initial_window: int, max_window: int) -> None:
        """Raises ConfigurationError unless 0 <= initial_window <= max_window < 2^31."""

    def track_rebuild(
        self,
        now_ns: int,
        loss_found: bool,
        consumption_position: int,
        status_position: int,
        hwm_position: int,
        rebuild_start: int,
        rebuild_end: int,
    ) -> tuple[int, bool]:
        """The window in bytes, and whether to force a status message; here: the initial one.

        Args:
            now_ns: of the driver's monotonic clock.
            loss_found: a gap appeared, grew or shrank since the step before.
            consumption_position: of the slowest subscriber.
            status_position: of the last status message that was scheduled.
            hwm_position: of the farthest byte received.
            rebuild_start: where the step began to look for frames.
            rebuild_end: of the first missing byte.
        """

    def measures_rtt(self, now_ns: int) -> bool:
        """Whether to ask the sender for an echo now; here: never."""

    def on_rtt_requested(self, now_ns: int) -> None: ...
    def on_rtt_measured(self, now_ns: int, rtt_ns: int) -> None: ...
