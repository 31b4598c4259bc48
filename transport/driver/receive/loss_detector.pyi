from typing import NamedTuple, Self

from aerolog.transport.logbuffer.descriptor import LogBuffers

class FeedbackDelay:
    def first(self) -> int: ...
    def retry(self) -> int: ...

class StaticDelay(FeedbackDelay):
    def __init__(self, first_ns: int, retry_ns: int) -> None: ...
    @classmethod
    def unicast(
        cls, delay_ns: int = 1000, retry_ratio: int = 100, nak_delay_ns: int | None = None
    ) -> Self: ...
    @classmethod
    def unreliable(cls) -> Self: ...

class OptimalMulticastDelay(FeedbackDelay):
    def __init__(
        self, seed: int, max_backoff_ns: int = 10_000_000, group_size: int = 10
    ) -> None: ...

class Gap(NamedTuple):
    term_id: int
    term_offset: int
    length: int

class LossScan(NamedTuple):
    rebuild_position: int
    loss_found: bool
    report: bool
    gap: Gap | None

class LossDetector:
    def __init__(self, delay: FeedbackDelay) -> None: ...
    @property
    def deadline_ns(self) -> int: ...
    def scan_log(
        self, logs: LogBuffers, rebuild_position: int, hwm_position: int, now_ns: int
    ) -> LossScan: ...

class LossRanges:
    def add(self, gap: Gap) -> int: ...

def fill(logs: LogBuffers, gap: Gap) -> bool: ...
