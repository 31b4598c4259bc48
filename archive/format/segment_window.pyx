"""A segment file, seen through a window of memory that is read as the scan goes on.

A mapping would show the file without the copy, but who shortens a mapped file ends the process of
everybody who looks at what is gone (SIGBUS), and an archive that truncates a recording may do so
at any time. A read says how much is there. It is also no slower: the copy is made by the kernel
into memory that stays in the processor's cache, where a mapping costs a fault or a page table
entry for every page of every segment. And the memory of a scan is that of its window.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from posix.stdlib cimport posix_memalign

from aerolog.transport.memory.data_file cimport DataFile

cdef enum:
    PAGE = 4096

# Long enough for a call to cost nothing beside the copy, short enough for the cache.
WINDOW_LENGTH = 1024 * 1024


cdef class SegmentWindow:
    """Bytes of one segment file after the other, in memory that is used again and again.

    Args:
        room: bytes that the window holds; it grows for a message that is longer.
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
        """Bytes that the window holds."""
        return self._room

    def open(self, DataFile file not None):
        """Look at this file from now on. It is the caller's, and open while the scan goes on."""
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
