"""A segment file seen through a window of memory that is read as a scan goes on.

A mapping would need no copy. But when a mapped file gets shorter, every process that reads the
missing part is ended by SIGBUS, and an archive may truncate a recording at any time. A read
returns how much is there. It is also no slower: the kernel copies into memory that stays in the
processor's cache, while a mapping costs a fault or a page table entry for every page of every
segment. The memory that a scan needs is that of its window.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from posix.stdlib cimport posix_memalign

from aerolog.transport.memory.data_file cimport DataFile

cdef enum:
    PAGE = 4096

# Long enough that the call costs little next to the copy, short enough for the cache.
WINDOW_LENGTH = 1024 * 1024


cdef class SegmentWindow:
    """Bytes of segment files, one file after the other, in memory that is reused.

    Args:
        room: bytes that the window holds; it grows for a longer message.
    """

    def __cinit__(self, int64_t room=WINDOW_LENGTH):
        if room < PAGE:
            raise ValueError(f"a window needs {PAGE} bytes or more, not {room}")
        self._room = room
        self.data = NULL

    def __dealloc__(self):
        free(self._memory)

    @property
    def room(self):
        """Number of bytes that the window holds."""
        return self._room

    def open(self, DataFile file not None):
        """Show this file from now on; the caller keeps it open during the scan and closes it."""
        self._file = file
        self.begin = 0
        self.length = 0
        self.file_length = file.file_size()

    cdef int fill(self, int64_t offset, int64_t wanted, int64_t until) noexcept nogil:
        cdef int64_t found
        cdef int64_t asked
        cdef void* memory = NULL
        if self._file is None:
            return 0
        self.length = 0
        self.begin = offset
        if wanted > self._room or self._memory == NULL:
            while self._room < wanted:
                self._room *= 2
            free(self._memory)
            self._memory = NULL
            if posix_memalign(&memory, PAGE, self._room) != 0:
                return -ENOMEM
            self._memory = <uint8_t*> memory
        asked = max(wanted, min(self._room, until - offset))
        found = self._file.pread(self._memory, asked, offset)
        if found < 0:
            return <int> found
        self.data = self._memory
        self.length = found
        if found < asked:
            self.file_length = offset + found
        return 0
