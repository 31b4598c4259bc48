"""The time index of recordings, which maps wall-clock times to positions and back."""

from aerolog.archive.time_index.index import SOURCE_DESCRIPTOR, TimeIndex, epoch_ns
from aerolog.archive.time_index.layout import SOURCE_CHANNEL, SOURCE_CLOCK, index_path
from aerolog.archive.time_index.search import TimeCursor

__all__ = [
    "SOURCE_CHANNEL",
    "SOURCE_CLOCK",
    "SOURCE_DESCRIPTOR",
    "TimeCursor",
    "TimeIndex",
    "epoch_ns",
    "index_path",
]
