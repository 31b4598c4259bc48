"""Columns that a merge fills, for native callers."""

from aerolog.archive.format.scan_columns cimport BatchColumns


cdef class MergedBatch(BatchColumns):
    pass
