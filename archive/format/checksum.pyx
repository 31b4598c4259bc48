"""CRC-32 and CRC-32C over frames and catalog entries (spec archive-files 10).

A frame's checksum covers its payload with the alignment fill, but not its header. It is stored as a
signed value in the session id field of DATA frames. No file says whether checksums were used.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t

import platform

from aerolog.transport.concurrent.atomic cimport get_i32, get_u16, put_i32
from aerolog.transport.memory.buffers cimport get_plain_buffer
from aerolog.transport.protocol.frames cimport (
    DATA_HEADER_LENGTH,
    FRAME_DATA,
    SESSION_ID_OFFSET,
    TYPE_OFFSET,
    align_frame,
    frame_fits,
)

from aerolog.transport.errors import ConfigurationError

cdef extern from "aerolog_crc.h" nogil:
    void aerolog_crc_init() noexcept
    crc_function_t aerolog_crc32_select() noexcept
    crc_function_t aerolog_crc32c_select() noexcept
    crc_function_t aerolog_crc_narrow(int castagnoli) noexcept
    crc_function_t aerolog_crc32_by_table
    crc_function_t aerolog_crc32c_by_table

cdef object _FROM_FACTORY = object()
cdef crc_function_t _crc32
cdef crc_function_t _crc32c

aerolog_crc_init()
_crc32 = aerolog_crc32_select()
_crc32c = aerolog_crc32c_select()

CRC32_NAME = "CRC-32"
CRC32C_NAME = "CRC-32C"

_ALIASES = {
    alias: name
    for name, java in ((CRC32_NAME, "Crc32"), (CRC32C_NAME, "Crc32c"))
    for alias in (name, f"io.aeron.archive.checksum.{java}", f"org.agrona.checksum.{java}")
}


cdef int32_t crc_of(int kind, const uint8_t* data, int64_t length) noexcept nogil:
    return <int32_t> (_crc32(data, length) if kind == CHECKSUM_CRC32 else _crc32c(data, length))


cdef class Checksum:
    """CRC-32 or CRC-32C as the archive stores it for frames and descriptors.

    Attributes:
        name: ``CRC-32`` or ``CRC-32C``.
        implementation: ``vpclmul``, ``pclmul``, ``sse4.2``, ``arm-crc`` or ``table``, chosen
            at run time.
    """

    def __cinit__(self, factory=None):
        if factory is not _FROM_FACTORY:
            raise TypeError("a checksum is made by checksum_for(name)")

    cdef int32_t compute_native(self, const uint8_t* data, int64_t length) noexcept nogil:
        return <int32_t> self._function(data, length)

    cdef int64_t stamp_block(self, uint8_t* block, int64_t length) noexcept nogil:
        cdef int64_t offset = 0
        cdef int64_t aligned
        cdef int64_t frames = 0
        cdef int32_t frame_length
        while offset < length:
            if length - offset < DATA_HEADER_LENGTH:
                return -offset - 1
            frame_length = get_i32(block + offset)
            if not frame_fits(frame_length, length - offset):
                return -offset - 1
            aligned = align_frame(frame_length)
            if get_u16(block + offset + TYPE_OFFSET) == FRAME_DATA:
                put_i32(
                    block + offset + SESSION_ID_OFFSET,
                    <int32_t> self._function(
                        block + offset + DATA_HEADER_LENGTH, aligned - DATA_HEADER_LENGTH
                    ),
                )
                frames += 1
            offset += aligned
        return frames

    def compute(self, data):
        """Return the checksum of ``data`` as the signed 32-bit value that files hold."""
        cdef Py_buffer view
        cdef int32_t value
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        with nogil:
            value = <int32_t> self._function(<const uint8_t*> view.buf, view.len)
        PyBuffer_Release(&view)
        return value

    def stamp(self, block):
        """Store the checksum of each DATA frame of a block in the frame's session id field.

        Returns:
            The number of DATA frames.

        Raises:
            ValueError: a frame does not fit in the block.
        """
        cdef Py_buffer view
        cdef int64_t frames
        get_plain_buffer(block, &view, PyBUF_WRITABLE, "a block")
        with nogil:
            frames = self.stamp_block(<uint8_t*> view.buf, view.len)
        PyBuffer_Release(&view)
        if frames < 0:
            raise ValueError(f"no whole frame at offset {-frames - 1} of a block of frames")
        return frames


cdef Checksum _new(str name, int kind, crc_function_t function, str implementation):
    cdef Checksum made = Checksum.__new__(Checksum, _FROM_FACTORY)
    made.name = name
    made.kind = kind
    made._function = function
    made.implementation = implementation
    return made


cdef str _native_name():
    # x86 without carry-less multiplication has an instruction for CRC-32C only.
    if platform.machine() not in ("x86_64", "AMD64"):
        return "arm-crc"
    if _crc32 == aerolog_crc32_by_table:
        return "sse4.2"
    return "pclmul" if aerolog_crc_narrow(0) == NULL else "vpclmul"


def checksum_for(name):
    """Return the checksum that a property names, None for None.

    Args:
        name: ``CRC-32``, ``CRC-32C`` or the name of a checksum class of the reference.

    Raises:
        ConfigurationError: the name is empty or unknown.
    """
    if name is None:
        return None
    if not name.strip():
        raise ConfigurationError("className is empty")
    found = _ALIASES.get(name)
    if found is None:
        raise ConfigurationError(
            f"failed to create Checksum instance for class: {name}; known are"
            f" {', '.join(_ALIASES)}"
        )
    if found == CRC32_NAME:
        table = _crc32 == aerolog_crc32_by_table
        return _new(found, CHECKSUM_CRC32, _crc32, "table" if table else _native_name())
    table = _crc32c == aerolog_crc32c_by_table
    return _new(found, CHECKSUM_CRC32C, _crc32c, "table" if table else _native_name())


def other_checksums(name):
    """Return the checksum in every other implementation that this machine has, ``table`` too."""
    cdef bint castagnoli = name == CRC32C_NAME
    cdef int kind = CHECKSUM_CRC32C if castagnoli else CHECKSUM_CRC32
    cdef crc_function_t narrow = aerolog_crc_narrow(castagnoli)
    if name not in (CRC32_NAME, CRC32C_NAME):
        raise ConfigurationError(f"no such checksum: {name}")
    found = [_new(name, kind, aerolog_crc32_by_table, "table")]
    if castagnoli:
        found = [_new(name, kind, aerolog_crc32c_by_table, "table")]
    if narrow != NULL:
        found.append(_new(name, kind, narrow, "pclmul"))
    return found
