"""Several recordings merged in time order (docs/archive/merged-replay.md)."""

from aerolog.archive.client.merging.batch import MergedBatch
from aerolog.archive.client.merging.merged import AsyncMergedReplay, MergedReplay, Published

__all__ = ["AsyncMergedReplay", "MergedBatch", "MergedReplay", "Published"]
