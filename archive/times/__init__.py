"""From wall-clock time to position and back: the time index of recordings (docs/archive)."""

from aerolog.archive.times.index import SOURCE_DESCRIPTOR, TimeIndex, epoch_ns
from aerolog.archive.times.layout import SOURCE_CHANNEL, SOURCE_CLOCK, index_path
from aerolog.archive.times.search import TimeCursor

__all__ = [
    "SOURCE_CHANNEL",
    "SOURCE_CLOCK",
    "SOURCE_DESCRIPTOR",
    "TimeCursor",
    "TimeIndex",
    "epoch_ns",
    "index_path",
]
