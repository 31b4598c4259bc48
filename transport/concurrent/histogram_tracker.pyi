from aerolog.transport.concurrent.agent_runner import DutyCycleTracker
from aerolog.transport.memory.counters import CountersReader
from aerolog.transport.memory.cycle_histograms import CycleHistograms
from aerolog.transport.memory.mapped_file import MappedFile

class HistogramTracker(DutyCycleTracker):
    def __init__(self, threshold_ns: int, file: MappedFile, offset: int) -> None: ...
    def measure(self, now_ns: int) -> None: ...

def cycle_tracker(
    counters: CountersReader,
    max_cycle_id: int,
    exceeded_id: int,
    threshold_ns: int,
    histograms: CycleHistograms | None = None,
    agent: str = "",
) -> DutyCycleTracker: ...
