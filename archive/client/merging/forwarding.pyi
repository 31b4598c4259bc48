from aerolog.archive.client.merging.batch import MergedBatch
from aerolog.transport.client import ExclusivePublication

def forward(publication: ExclusivePublication, batch: MergedBatch, first: int) -> tuple[int, int]:
    """Offer rows of a batch, each with its recording's id as reserved value; without the GIL.

    Args:
        publication: of one thread.
        batch: the rows.
        first: the row to begin with.

    Returns:
        The row to go on with, and the position after the last one or the refusal of the next.
    """
