"""The next segment files of recordings, made without the interpreter (spec archive-files 8, 9).

A recording that reaches the end of a segment continues in a new file at once. While recordings fill
segments, an agent on its own thread keeps a few files ready whose disk space is allocated, because
allocation takes as long as writing. These files have no name until a recording takes them, so that
no other process sees them and a crash leaves none behind. When no recording has needed a file for a
while, their disk space is released.
"""

from libc.errno cimport EAGAIN, EINTR, ENOSPC, errno
from libc.stdint cimport int32_t, int64_t
from libc.stdio cimport snprintf
from posix.fcntl cimport O_CLOEXEC, O_DIRECTORY, O_RDONLY, open as _open
from posix.unistd cimport close as _close
from posix.unistd cimport fsync, ftruncate

import os
import sys

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.atomic cimport (
    cas_i32,
    load_acquire_i32,
    store_release_i32,
)

cdef extern from "aerolog_files.h" nogil:
    int aerolog_allocate(int fd, int64_t offset, int64_t length) noexcept

cdef extern from "aerolog_segments.h" nogil:
    int aerolog_create_in(int folder, const char* name) noexcept
    int aerolog_create_unnamed(int folder) noexcept
    int aerolog_name_in(int fd, int folder, const char* name) noexcept
    void aerolog_remove_in(int folder, const char* name) noexcept
    int aerolog_release_range(int fd, int64_t offset, int64_t length) noexcept
    int64_t aerolog_usable_space(int fd) noexcept

cdef enum:
    NAME_LENGTH = 64
    PAGE = 4096
    DEPTH_MIN = 2
    # Most bytes kept ready in all files, unless that is less than DEPTH_MIN files.
    READY_BYTES = 64 * 1024 * 1024
    # Files that are ready take at most this part of the usable disk space.
    SHARE_OF_USABLE = 32
    # On a busy processor this thread leaves three quarters of the time to others.
    NICE_MORE = 5
    NICE_MAX = 19

cdef int64_t _KEEP_NS = 2_000_000_000


cdef int release_room(int fd, int64_t offset, int64_t end) noexcept nogil:
    """Release the disk space of whole pages from an offset to the end of a file."""
    offset = (offset + PAGE - 1) & -<int64_t> PAGE
    return 0 if offset >= end else aerolog_release_range(fd, offset, end - offset)


cdef class SegmentFiles(Agent):
    """Makes segment files in a folder.

    Args:
        folder: the archive's folder.
        length: bytes of the segments that are kept ready.
        preallocate: whether disk space is allocated for the whole of every segment.
        sync_folder: whether the folder is synced after a file got its name.
        space_to_leave: files are kept ready only while this many bytes remain usable.
        ahead: whether files are kept ready at all, which requires that this agent runs.
    """

    def __cinit__(self):
        self._folder = -1

    def __init__(
        self,
        str folder not None,
        *,
        int64_t length,
        bint preallocate,
        bint sync_folder,
        int64_t space_to_leave,
        bint ahead,
    ):
        super().__init__("archive-segments")
        encoded = os.fsencode(folder)
        cdef const char* path = encoded
        if self._folder >= 0:
            raise RuntimeError("already initialised")
        self._folder = _open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if self._folder < 0:
            raise OSError(errno, os.strerror(errno), folder)
        self.length = length
        self.preallocate = preallocate
        self._sync = sync_folder
        self._space_to_leave = space_to_leave
        if ahead:
            self._depth = <int32_t> min(max(READY_BYTES // length, DEPTH_MIN), SLOTS)

    def __dealloc__(self) -> None:
        self._give_back()
        if self._folder >= 0:
            _close(self._folder)

    # -- the recorder's side ----------------------------------------------------------------------

    cdef void want(self) noexcept nogil:
        if self._depth > 0:
            store_release_i32(&self._wanted, 1)

    cdef int take(
        self, int64_t recording_id, int64_t base, int64_t length, bint* has_room
    ) noexcept nogil:
        cdef char name[NAME_LENGTH]
        cdef int fd = -1, result
        snprintf(
            name, NAME_LENGTH, "%lld-%lld.rec", <long long> recording_id, <long long> base)
        has_room[0] = False
        self.want()
        if length == self.length:
            fd = self._ready_file()
        if fd >= 0:
            has_room[0] = True
            result = aerolog_name_in(fd, self._folder, name)
        else:
            fd = aerolog_create_in(self._folder, name)
            if fd < 0:
                return fd
            result = 0 if ftruncate(fd, length) == 0 else -errno
            if result == 0 and self.preallocate:
                has_room[0] = True
                result = aerolog_allocate(fd, 0, length)
            if result != 0:
                aerolog_remove_in(self._folder, name)
        if result == 0 and self._sync and fsync(self._folder) != 0:
            result = -errno
        if result != 0:
            _close(fd)
            return result
        return fd

    cdef int _ready_file(self) noexcept nogil:
        cdef int32_t index
        cdef int fd
        for index in range(self._depth):
            if load_acquire_i32(&self._slots[index].state) == SLOT_READY:
                fd = self._slots[index].fd
                if cas_i32(&self._slots[index].state, SLOT_READY, SLOT_EMPTY):
                    return fd
        return -1

    # -- the agent's side -------------------------------------------------------------------------

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        if cas_i32(&self._wanted, 1, 0):
            self._wanted_ns = now_ns
        elif self._wanted_ns == 0:
            return 0
        elif now_ns - self._wanted_ns > _KEEP_NS:
            self._wanted_ns = 0
            return self._give_back()
        return self._make()

    cdef int _make(self) noexcept nogil:
        """Prepare one file if one is missing; returns 1 when it did."""
        cdef int32_t index = 0
        cdef int fd, result
        if self._cannot:
            return 0
        while index < self._depth and load_acquire_i32(&self._slots[index].state) != SLOT_EMPTY:
            index += 1
        if index == self._depth:
            return 0
        if not self._may_take():
            return 0
        fd = aerolog_create_unnamed(self._folder)
        if fd < 0:
            self._cannot = True
            return 0
        result = 0 if ftruncate(fd, self.length) == 0 else -errno
        if result == 0:
            result = aerolog_allocate(fd, 0, self.length)
        if result != 0:
            _close(fd)
            if result not in (-ENOSPC, -EINTR, -EAGAIN):
                self._cannot = True
            return 0
        self._slots[index].fd = fd
        store_release_i32(&self._slots[index].state, SLOT_READY)
        return 1

    cdef bint _may_take(self) noexcept nogil:
        """Return whether there is enough usable disk space for another file that is ready."""
        cdef int64_t usable = aerolog_usable_space(self._folder)
        cdef int64_t taken = self.length
        cdef int32_t index
        for index in range(self._depth):
            if load_acquire_i32(&self._slots[index].state) == SLOT_READY:
                taken += self.length
        return taken <= usable // SHARE_OF_USABLE and usable - self.length > self._space_to_leave

    cdef int _give_back(self) noexcept nogil:
        """Close the files that are ready; returns their number."""
        cdef int fd = self._ready_file()
        cdef int count = 0
        while fd >= 0:
            _close(fd)
            count += 1
            fd = self._ready_file()
        return count

    # -- for Python -------------------------------------------------------------------------------

    @property
    def ready(self) -> int:
        """Number of files that are ready."""
        cdef int32_t index
        return sum(
            1
            for index in range(self._depth)
            if load_acquire_i32(&self._slots[index].state) == SLOT_READY
        )

    def ask(self) -> None:
        """Announce that a segment will be needed soon."""
        self.want()

    def turn(self, now_ns: int) -> int:
        """Run one duty cycle at a monotonic time in nanoseconds."""
        return self.duty_cycle(now_ns)

    def create(self, recording_id: int, base: int, length: int) -> tuple[int, bool]:
        """Create a segment's file; returns its descriptor and whether its space is allocated.

        Raises:
            FileExistsError: the file exists.
            OSError: any other failure that the system reports.
        """
        cdef bint has_room = False
        cdef int fd = self.take(recording_id, base, length, &has_room)
        if fd < 0:
            raise OSError(-fd, os.strerror(-fd), f"{recording_id}-{base}.rec")
        return fd, has_room

    def on_start(self) -> None:
        """Lower this thread's priority, so that recording comes first on a busy machine."""
        if sys.platform == "linux":
            # On Linux this changes only the calling thread.
            nice = os.getpriority(os.PRIO_PROCESS, 0) + NICE_MORE
            os.setpriority(os.PRIO_PROCESS, 0, min(nice, NICE_MAX))

    def on_close(self) -> None:
        """Release everything at the agent's end, after which no files are taken."""
        self._give_back()

    def close(self) -> None:
        """Close the files that are ready and the folder; a second call does nothing."""
        cdef int folder = self._folder
        self._give_back()
        self._depth = 0
        self._folder = -1
        if folder >= 0:
            _close(folder)

    def __enter__(self) -> SegmentFiles:
        return self

    def __exit__(self, exc_type, exc, traceback) -> None:
        self.close()
