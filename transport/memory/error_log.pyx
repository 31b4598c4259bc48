"""The distinct error log: each error once, with its count and times (spec cnc-and-commands 6).

    record at multiples of 8: i32 length (24 + text), i32 count, i64 last and i64 first observation
    (epoch ms), text without terminator

Any thread of the owning process may record an error, under a lock; readers are other processes. The
archive's mark file uses the same format.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    get_and_add_i32,
    load_acquire_i32,
    load_acquire_i64,
    load_plain_i64,
    store_plain_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.memory.mapped_file cimport MappedFile
from aerolog.transport.memory.records cimport ALIGNMENT, align_record

from dataclasses import dataclass
from threading import Lock

from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.error_text import exception_identity, format_exception
from aerolog.transport.secrets import without_secrets
from aerolog.transport.text_output import write_text

cdef enum:
    COUNT_AT = 4
    LAST_AT = 8
    FIRST_AT = 16
    TEXT_AT = 24


@dataclass(frozen=True, slots=True)
class ErrorObservation:
    """One distinct error: its count, first and last time (epoch milliseconds) and text."""

    count: int
    first_ms: int
    last_ms: int
    text: str


cdef class DistinctErrorLog:
    """The writer of an error log.

    Args:
        mapped: the file that holds the log, whose section is still all zeros.
        offset: offset of the log in the file, a multiple of 8.
        length: bytes of the log.
        clock: gives the times of observations.
    """

    cdef MappedFile _mapped
    cdef uint8_t* _data
    cdef int64_t _offset
    cdef int64_t _length
    cdef int64_t _next
    cdef Clock _clock
    cdef dict _known
    cdef object _lock
    cdef bint _full_told

    def __cinit__(self, MappedFile mapped, offset: int, length: int, clock: Clock) -> None:
        _check_section(mapped, offset)
        mapped.check_writable()
        self._data = mapped.section(offset, length)
        self._mapped = mapped
        self._offset = offset
        self._length = length
        self._next = 0
        self._clock = clock
        self._known = {}
        self._lock = Lock()
        self._full_told = False

    def record(self, text: str, identity=None) -> bool:
        """Count an error, and add it to the log if it is new.

        Args:
            text: the text for readers; characters outside US-ASCII become ``?``.
            identity: errors with equal identities count as one; the text by default.

        Returns:
            Whether the error is in the log. A new error that does not fit is written to stderr
            instead, the first time with a note.
        """
        key = text if identity is None else identity
        cdef int64_t now_ms = self._clock.epoch_ms()
        cdef int64_t at
        with self._lock:
            known = self._known.get(key)
            at = self._append(without_secrets(text), now_ms) if known is None else known
            if at < 0:
                self._tell_full(text)
                return False
            self._known[key] = at
            get_and_add_i32(self._data + at + COUNT_AT, 1)
            store_release_i64(self._data + at + LAST_AT, now_ms)
        return True

    def record_exception(self, error: BaseException, identity=None) -> bool:
        """Count an exception.

        Args:
            error: exceptions with equal class, message, frames and causes count as one.
            identity: exceptions with equal identities count as one instead, if given.
        """
        if identity is None:
            identity = exception_identity(error)
        return self.record(format_exception(error), identity)

    cdef int64_t _append(self, str text, int64_t now_ms) except -2:
        cdef bytes data = text.encode("ascii", "replace")
        cdef int64_t at = self._next
        cdef int64_t length = TEXT_AT + len(data)
        if at + length > self._length or length > 2**31 - 1:
            return -1
        memcpy(self._data + at + TEXT_AT, <const char*> data, len(data))
        store_plain_i64(self._data + at + FIRST_AT, now_ms)
        store_release_i32(self._data + at, <int32_t> length)
        self._next = align_record(at + length)
        return at

    def _tell_full(self, text: str) -> None:
        if not self._full_told:
            self._full_told = True
            write_text("error log is full, consider increasing length of error buffer\n")
        write_text(text if text.endswith("\n") else text + "\n")

    def observations(self, since_ms: int = 0) -> list[ErrorObservation]:
        """Return the errors last seen at or after a time, epoch milliseconds."""
        return read_error_log(self._mapped, self._offset, self._length, since_ms)


def read_error_log(
    MappedFile mapped, offset: int = 0, length: int = -1, since_ms: int = 0
) -> list[ErrorObservation]:
    """Read an error log, which a process may be writing.

    Args:
        mapped: the file that holds the log.
        offset: offset of the log in the file, a multiple of 8.
        length: bytes of the log; -1 for the rest of the file.
        since_ms: errors last seen before this time are left out, epoch milliseconds.
    """
    _check_section(mapped, offset)
    cdef int64_t capacity = mapped.length - offset if length < 0 else length
    cdef const uint8_t* data = mapped.section(offset, capacity)
    cdef int64_t at = 0, size, last_ms
    found = []
    while at <= capacity - TEXT_AT:
        size = min(<int64_t> load_acquire_i32(data + at), capacity - at)
        if size < TEXT_AT:
            break
        last_ms = load_acquire_i64(data + at + LAST_AT)
        if last_ms >= since_ms:
            found.append(
                ErrorObservation(
                    load_acquire_i32(data + at + COUNT_AT),
                    load_plain_i64(data + at + FIRST_AT),
                    last_ms,
                    data[at + TEXT_AT:at + size].decode("utf-8", "replace"),
                )
            )
        at += align_record(size)
    mapped.check_whole()
    return found


def has_errors(MappedFile mapped, offset: int = 0, length: int = -1) -> bool:
    """Whether an error log holds at least one error."""
    _check_section(mapped, offset)
    cdef int64_t capacity = mapped.length - offset if length < 0 else length
    return capacity >= TEXT_AT and load_acquire_i32(mapped.section(offset, capacity)) > 0


cdef int _check_section(MappedFile mapped, int64_t offset) except -1:
    if offset % ALIGNMENT:
        raise FileFormatError(f"an error log at offset {offset} of {mapped.path} is not aligned")
    return 0
