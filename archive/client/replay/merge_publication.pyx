"""The rows of a merge, published onto one stream; the reserved value names the recording."""

from libc.stdint cimport int32_t, int64_t

from aerolog.archive.client.replay.merged_batch cimport MergedBatch
from aerolog.transport.client.publication cimport ExclusivePublication
from aerolog.transport.logbuffer.appender cimport ExclusiveAppender
from aerolog.transport.logbuffer.frame_writer cimport reserved_t


def forward(ExclusivePublication publication not None, MergedBatch batch not None, int64_t first):
    """Offer rows of a batch, each with its recording's id as reserved value; without the GIL.

    Args:
        publication: an exclusive publication, which no other thread uses meanwhile.
        batch: the rows.
        first: the row to begin with.

    Returns:
        The row to go on with, and the position after the last one or the refusal of the next.
    """
    cdef ExclusiveAppender appender = publication.exclusive
    cdef int64_t row = first
    cdef int64_t result = 0
    cdef int64_t begin
    cdef int32_t retries = 0
    cdef reserved_t reserved
    if not 0 <= first <= batch.c.rows:
        raise ValueError(f"the batch has {batch.c.rows} rows, not row {first}")
    reserved.supplier = NULL
    reserved.context = NULL
    with nogil:
        while row < batch.c.rows:
            begin = batch.c.payload_offset[row]
            reserved.value = batch.c.recording_id[row]
            result = appender.append(
                batch.c.payload + begin, batch.c.payload_offset[row + 1] - begin, &reserved
            )
            if result >= 0:
                row += 1
                retries = 0
            elif not appender.is_retried(result, &retries):
                break
    return row, result
