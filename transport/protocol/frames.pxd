"""Frame header offsets, flags and types (spec log-buffers 4), for native code.

Python code finds the same names in the module ``frames``.
"""

cpdef enum:
    FRAME_LENGTH_OFFSET = 0
    VERSION_OFFSET = 4
    FLAGS_OFFSET = 5
    TYPE_OFFSET = 6
    TERM_OFFSET_OFFSET = 8
    SESSION_ID_OFFSET = 12
    STREAM_ID_OFFSET = 16
    TERM_ID_OFFSET = 20
    RESERVED_VALUE_OFFSET = 24
    DATA_HEADER_LENGTH = 32

    FRAME_ALIGNMENT = 32
    CURRENT_VERSION = 0

cpdef enum:
    FLAG_BEGIN = 0x80
    FLAG_END = 0x40
    FLAGS_UNFRAGMENTED = 0xC0
    FLAG_EOS = 0x20
    FLAG_REVOKED = 0x10

cpdef enum:
    TYPE_PADDING = 0x00
    TYPE_DATA = 0x01
