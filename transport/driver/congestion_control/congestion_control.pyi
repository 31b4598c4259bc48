from typing import ClassVar, Final

from aerolog.transport.memory.mapped_file import MappedFile

RTT_MAX_NS: Final[int]

def max_window_for(receiver_window: int, term_length: int) -> int: ...

class CongestionControl:
    counter_names: ClassVar[tuple[str, ...]]
    error: BaseException | None

    def bind_counters(self, values: MappedFile, *offsets: int) -> None: ...
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
    ) -> tuple[int, bool]: ...
    def should_measure_rtt(self, now_ns: int) -> bool: ...
    def rtt_requested(self, now_ns: int) -> None: ...
    def rtt_measured(self, now_ns: int, rtt_ns: int) -> None: ...

class StaticWindow(CongestionControl):
    def __init__(self, receiver_window: int, term_length: int) -> None: ...

class Cubic(CongestionControl):
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
    ) -> None: ...
    @property
    def rtt_ns(self) -> int: ...

class PythonCongestionControl(CongestionControl):
    def __init__(self, initial_window: int, max_window: int) -> None: ...
    def track_rebuild(
        self,
        now_ns: int,
        loss_found: bool,
        consumption_position: int,
        status_position: int,
        hwm_position: int,
        rebuild_start: int,
        rebuild_end: int,
    ) -> tuple[int, bool]: ...
    def measures_rtt(self, now_ns: int) -> bool: ...
    def on_rtt_requested(self, now_ns: int) -> None: ...
    def on_rtt_measured(self, now_ns: int, rtt_ns: int) -> None: ...
