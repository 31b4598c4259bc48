from aerolog.archive.client.replay.merged_batch import MergedBatch
from aerolog.transport.client import ExclusivePublication

def forward(
    publication: ExclusivePublication, batch: MergedBatch, first: int
) -> tuple[int, int]: ...
