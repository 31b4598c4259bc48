from typing import NamedTuple

from aerolog.transport.driver.network.feedback_delay import FeedbackDelay
from aerolog.transport.logbuffer.descriptor import LogBuffers

class Gap(NamedTuple):
    """Missing bytes of one term.

    Attributes:
        term_id: int32.
        term_offset: of the first missing byte.
        length: in bytes, a multiple of 32.
    """

    term_id: int
    term_offset: int
    length: int

class LossScan(NamedTuple):
    """What one scan found.

    Attributes:
        rebuild_position: of the first missing byte, or where the frames end.
        loss_found: there is a gap that was not the active one before.
        report: the gap is to be reported (or filled) now.
        gap: the gap there is, None without one.
    """

    rebuild_position: int
    loss_found: bool
    report: bool
    gap: Gap | None

class LossDetector:
    """Finds the first gap of an image and says when to report it.

    A gap that grows or shrinks is a new one: its delay starts again.
    """

    def __init__(self, delay: FeedbackDelay) -> None: ...
    @property
    def deadline_ns(self) -> int:
        """When the active gap is reported next."""

    def scan_log(
        self, logs: LogBuffers, rebuild_position: int, hwm_position: int, now_ns: int
    ) -> LossScan:
        """Look from the rebuild position to the high-water mark, in the rebuild's term only."""

class LossRanges:
    """What of an image's losses the loss report has already."""

    def add(self, gap: Gap) -> int:
        """Bytes of the gap to observe in the report, 0 when it has them all."""

def fill(logs: LogBuffers, gap: Gap) -> bool:
    """Pad a gap of an unreliable stream; False when something lies in it or it is no gap."""
