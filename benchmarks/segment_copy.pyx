"""Segments mapped into memory and copied, and nothing else: what a scan is measured against."""

from libc.errno cimport errno
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from posix.mman cimport MAP_FAILED, MAP_SHARED, PROT_READ, mmap, munmap
from posix.time cimport CLOCK_THREAD_CPUTIME_ID, clock_gettime, timespec

import os

cdef int64_t _used_ns() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return <int64_t> now.tv_sec * 1000000000 + now.tv_nsec


def copy_segments(paths: list[str], lengths: list[int]) -> int:
    """Nanoseconds of processor time that memcpy takes for the first bytes of some files.

    Each is mapped whole and every page of it touched before the clock runs; the target is as long
    as the longest of them, and was written to before.

    Args:
        paths: of the files.
        lengths: bytes of each to copy.
    """
    cdef int64_t spent = 0
    cdef int64_t began
    cdef int64_t at
    cdef int64_t length
    cdef int64_t room = max(lengths)
    cdef int fd
    cdef uint8_t touched = 0
    cdef uint8_t* source
    cdef void* mapped
    cdef uint8_t* target = <uint8_t*> malloc(room)
    if target == NULL:
        raise MemoryError
    memset(target, 1, room)
    try:
        for path, wanted in zip(paths, lengths, strict=True):
            length = wanted
            descriptor = os.open(path, os.O_RDONLY)
            fd = descriptor
            mapped = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0)
            failure = errno
            os.close(descriptor)
            if mapped == MAP_FAILED:
                raise OSError(failure, "cannot map", path)
            source = <uint8_t*> mapped
            with nogil:
                for at in range(0, length, 4096):
                    touched ^= (<volatile uint8_t*> source)[at]
                began = _used_ns()
                memcpy(target, source, length)
                spent += _used_ns() - began
                munmap(mapped, length)
    finally:
        free(target)
    return spent
