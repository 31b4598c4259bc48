"""The one shared word of archive files that two processes may fight for (spec archive-files 13)."""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.atomic cimport cas_i64
from aerolog.transport.memory.mapped_file cimport MappedFile


def compare_and_set_i64(
    MappedFile mapped not None, int64_t offset, int64_t expected, int64_t value
):
    """Store ``value`` at ``offset`` if ``expected`` stands there; True when that was done."""
    if offset % 8 != 0 or not mapped.writable:
        raise ValueError(f"no word of {mapped.path} at offset {offset} can be set")
    return cas_i64(mapped.section(offset, 8), expected, value)
