from typing import NamedTuple

from aerolog.transport.driver.receive.feedback_delay import FeedbackDelay
from aerolog.transport.logbuffer.descriptor import LogBuffers

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
