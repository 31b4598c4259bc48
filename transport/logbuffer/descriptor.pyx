"""A mapped log: created by a driver, opened by a client (spec log-buffers 1 to 5 and 24).

A LogBuffers owns only a reference to the mapping: any object that keeps a LogBuffers, or a view of
it, keeps the log mapped. Several processes read and write the words that change.
"""

import struct

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerolog.transport.concurrent.atomic cimport (
    cas_i32,
    load_acquire_i64,
    store_plain_i32,
    store_plain_i64,
)
from aerolog.transport.memory.mapped_file cimport MappedFile
from aerolog.transport.protocol.frames cimport DATA_HEADER_LENGTH, FRAME_ALIGNMENT

from aerolog.transport.errors import FileFormatError
from aerolog.transport.logbuffer import metadata as _metadata

cdef int64_t _TERM_MIN_LENGTH = 64 * 1024
cdef int64_t _TERM_MAX_LENGTH = 1024 * 1024 * 1024
cdef int64_t _PAGE_MIN_SIZE = 4096
cdef int64_t _PAGE_MAX_SIZE = 1024 * 1024 * 1024
cdef int32_t _MAX_MESSAGE_LENGTH = 16 * 1024 * 1024
cdef int32_t _MTU_MAX_LENGTH = 65504


def _check_power_of_two(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high or value & (value - 1):
        raise FileFormatError(f"{what} is not a power of two in {low}..{high}: {value}")


def check_geometry(term_length: int, page_size: int, mtu_length: int) -> None:
    """Refuse lengths that no log can have.

    Raises:
        FileFormatError: if a length is out of its range; the message gives both.
    """
    _check_power_of_two("term length", term_length, _TERM_MIN_LENGTH, _TERM_MAX_LENGTH)
    _check_power_of_two("page size", page_size, _PAGE_MIN_SIZE, _PAGE_MAX_SIZE)
    if not DATA_HEADER_LENGTH < mtu_length <= _MTU_MAX_LENGTH or mtu_length % FRAME_ALIGNMENT:
        raise FileFormatError(
            f"mtu is not a multiple of {FRAME_ALIGNMENT} above {DATA_HEADER_LENGTH}"
            f" and up to {_MTU_MAX_LENGTH}: {mtu_length}"
        )


def log_file_length(term_length: int, page_size: int = 4096) -> int:
    """Bytes of a log file: three terms and the metadata, rounded up to whole pages.

    Raises:
        FileFormatError: if a log cannot have such terms or pages.
    """
    _check_power_of_two("term length", term_length, _TERM_MIN_LENGTH, _TERM_MAX_LENGTH)
    _check_power_of_two("page size", page_size, _PAGE_MIN_SIZE, _PAGE_MAX_SIZE)
    return -(-(PARTITION_COUNT * term_length + LOG_META_LENGTH) // page_size) * page_size


cdef class LogBuffers:
    """Three terms and their metadata over a mapped file."""

    def __cinit__(self, MappedFile file not None, metadata: object) -> None:
        cdef int32_t partition
        check_geometry(metadata.term_length, metadata.page_size, metadata.mtu_length)
        cdef int64_t term_length = metadata.term_length
        shortest = PARTITION_COUNT * term_length + LOG_META_LENGTH
        if file.length < shortest:
            raise FileFormatError(
                f"{file.path}: three terms of {term_length} bytes and the metadata take"
                f" {shortest} bytes, the file has {file.length}"
            )
        self.file = file
        self.metadata = metadata
        for partition in range(PARTITION_COUNT):
            self.log.terms[partition] = file.address + partition * term_length
        self.log.meta = file.address + file.length - LOG_META_LENGTH
        self.log.max_position = term_length << 31
        self.log.term_length = <int32_t> term_length
        self.log.term_mask = <int32_t> (term_length - 1)
        self.log.position_bits = (<object> term_length).bit_length() - 1
        self.log.initial_term_id = metadata.initial_term_id
        self.log.mtu = metadata.mtu_length
        self.log.max_payload_length = self.log.mtu - DATA_HEADER_LENGTH
        self.log.max_message_length = min(self.log.term_length // 8, _MAX_MESSAGE_LENGTH)
        self.log.page_size = metadata.page_size
        self.log.session_id = metadata.session_id
        self.log.stream_id = metadata.stream_id

    @staticmethod
    def create(file: MappedFile, metadata: object) -> LogBuffers:
        """Write the metadata and the first tails into a new, all-zero file.

        Args:
            file: a writable file of the length that log_file_length gives.
            metadata: the constant values of the log.

        Raises:
            FileFormatError: if no log can have the lengths in the metadata, or if the file has
                another length than they require.
        """
        cdef LogBuffers logs
        check_geometry(metadata.term_length, metadata.page_size, metadata.mtu_length)
        length = log_file_length(metadata.term_length, metadata.page_size)
        if file.length != length:
            raise FileFormatError(
                f"{file.path}: a log with terms of {metadata.term_length} bytes takes"
                f" {length} bytes, not {file.length}"
            )
        if not file.writable:
            raise FileFormatError(f"{file.path}: mapped read-only")
        cdef bytes section = _metadata.encode(metadata)
        memcpy(
            file.address + file.length - LOG_META_LENGTH,
            <const char*> section,
            LOG_META_LENGTH,
        )
        logs = LogBuffers(file, metadata)
        if metadata.type != _metadata.LogType.IMAGE:
            _initialise_tails(&logs.log, metadata.term_id, metadata.term_offset)
        # This store is the last: a process that sees the end of stream sees all stores before it.
        set_end_of_stream_position(&logs.log, _metadata.END_OF_STREAM_UNKNOWN)
        return logs

    @staticmethod
    def open(file: MappedFile) -> LogBuffers:
        """Check a mapped file and read its metadata.

        Raises:
            FileFormatError: if the file is too short, or if the lengths in its metadata contradict
                its size or each other.
        """
        if file.length < LOG_META_LENGTH:
            raise FileFormatError(
                f"{file.path}: a log has at least {LOG_META_LENGTH} bytes, not {file.length}"
            )
        try:
            with memoryview(file) as whole:
                metadata = _metadata.decode(whole[file.length - LOG_META_LENGTH :])
            check_geometry(metadata.term_length, metadata.page_size, metadata.mtu_length)
        except (ValueError, struct.error) as error:
            raise FileFormatError(f"{file.path}: not a log buffer: {error}") from None
        return LogBuffers(file, metadata)

    @property
    def term_length(self) -> int:
        """Bytes of a term."""
        return self.log.term_length

    @property
    def initial_term_id(self) -> int:
        """Id of the stream's first term."""
        return self.log.initial_term_id

    @property
    def position_bits_to_shift(self) -> int:
        """Binary logarithm of the term length in bytes."""
        return self.log.position_bits

    @property
    def mtu_length(self) -> int:
        """Longest frame, header included."""
        return self.log.mtu

    @property
    def max_payload_length(self) -> int:
        """Longest payload of one frame, bytes."""
        return self.log.max_payload_length

    @property
    def max_message_length(self) -> int:
        """Longest message, bytes."""
        return self.log.max_message_length

    @property
    def max_possible_position(self) -> int:
        """Position at which the stream ends for good."""
        return self.log.max_position

    @property
    def session_id(self) -> int:
        """Session id in the log's default frame header."""
        return self.log.session_id

    @property
    def stream_id(self) -> int:
        """Stream id in the log's default frame header."""
        return self.log.stream_id

    @property
    def producer_position(self) -> int:
        """Position of the next frame, computed from the shared tail."""
        return producer_position(&self.log)

    @property
    def active_term_count(self) -> int:
        """Terms completed since the first one."""
        return active_term_count(&self.log)

    def raw_tail(self, index: int) -> int:
        """Tail counter of a partition, 0 to 2: term id in the upper, offset in the lower half."""
        if not 0 <= index < PARTITION_COUNT:
            raise IndexError(f"a log has partitions 0..2, not {index}")
        return load_acquire_i64(tail_address(&self.log, index))

    @property
    def is_connected(self) -> bool:
        """Whether the driver sees subscribers (publication logs)."""
        return log_is_connected(&self.log)

    @is_connected.setter
    def is_connected(self, connected: bool) -> None:
        set_log_connected(&self.log, connected)

    @property
    def end_of_stream_position(self) -> int:
        """Position of the end of the stream; 2^63-1 until it is known."""
        return end_of_stream_position(&self.log)

    @end_of_stream_position.setter
    def end_of_stream_position(self, position: int) -> None:
        set_end_of_stream_position(&self.log, position)

    @property
    def active_transport_count(self) -> int:
        """Number of transports from which the image received frames lately (image logs)."""
        return active_transport_count(&self.log)

    @property
    def is_publication_revoked(self) -> bool:
        """Whether the publication was revoked: closed without waiting for its readers."""
        return publication_is_revoked(&self.log)

    def revoke(self) -> None:
        """Mark the publication as revoked (driver)."""
        set_publication_revoked(&self.log)

    def term(self, index: int) -> memoryview:
        """A read-only view of a term, 0 to 2; it keeps the log mapped."""
        if not 0 <= index < PARTITION_COUNT:
            raise IndexError(f"a log has partitions 0..2, not {index}")
        start = index * self.log.term_length
        return self.file.view(start, self.log.term_length).toreadonly()

    def pre_touch(self) -> None:
        """Bring every page of the mapping into memory, unchanged (spec log-buffers 24)."""
        cdef uint8_t* address = self.file.address
        cdef int64_t length = self.file.length
        cdef int64_t step = self.log.page_size
        cdef int64_t offset = 0
        with nogil:
            while offset < length:
                cas_i32(address + offset, 0, 0)
                offset += step


cdef int _initialise_tails(
    log_buffer_t* log, object start_term_id, int32_t term_offset
) except -1:
    """Set the first tails of a publication (spec log-buffers 5).

    Plain stores suffice, because no other process knows the log yet.
    """
    cdef int32_t term_id = log.initial_term_id if start_term_id is None else start_term_id
    cdef int32_t count = wrapping_sub(term_id, log.initial_term_id)
    cdef int32_t active = index_by_term_count(count)
    if count < 0 or not 0 <= term_offset <= log.term_length or term_offset % FRAME_ALIGNMENT:
        raise FileFormatError(
            f"no log starts at term id {term_id}, offset {term_offset}: initial term id"
            f" {log.initial_term_id}, terms of {log.term_length} bytes"
        )
    store_plain_i64(tail_address(log, active), pack_tail(term_id, term_offset))
    store_plain_i64(
        tail_address(log, (active + 1) % PARTITION_COUNT), pack_tail(wrapping_sub(term_id, 2), 0)
    )
    store_plain_i64(
        tail_address(log, (active + 2) % PARTITION_COUNT), pack_tail(wrapping_sub(term_id, 1), 0)
    )
    store_plain_i32(log.meta + META_ACTIVE_TERM_COUNT, count)
    return 0
