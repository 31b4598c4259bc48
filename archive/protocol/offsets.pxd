"""Offsets in SBE messages and in catalog entries, for native code.

See spec archive-protocol 1, spec archive-protocol 3 and spec archive-files 3.2. The message classes
of this package have the whole tables; a test compares these numbers with them.
"""

# The header of every message
cdef enum:
    BLOCK_LENGTH_OFFSET = 0
    TEMPLATE_ID_OFFSET = 2
    SCHEMA_ID_OFFSET = 4
    SCHEMA_VERSION_OFFSET = 6
    MESSAGE_HEADER_LENGTH = 8
    SCHEMA_ID = 101
    SCHEMA_VERSION = 13

# RecordingProgress, its header included
cdef enum:
    PROGRESS_TEMPLATE_ID = 102
    PROGRESS_BLOCK_LENGTH = 24
    PROGRESS_RECORDING_ID_OFFSET = MESSAGE_HEADER_LENGTH
    PROGRESS_START_POSITION_OFFSET = MESSAGE_HEADER_LENGTH + 8
    PROGRESS_POSITION_OFFSET = MESSAGE_HEADER_LENGTH + 16
    PROGRESS_LENGTH = MESSAGE_HEADER_LENGTH + PROGRESS_BLOCK_LENGTH

# A catalog entry: its header (RecordingDescriptorHeader), then a RecordingDescriptor
cdef enum:
    ENTRY_LENGTH_OFFSET = 0
    ENTRY_STATE_OFFSET = 4
    ENTRY_HEADER_LENGTH = 32
    ENTRY_VALID = 1
    DESCRIPTOR_BLOCK_LENGTH = 80
    ENTRY_RECORDING_ID_OFFSET = ENTRY_HEADER_LENGTH + 16
    ENTRY_STOP_POSITION_OFFSET = ENTRY_HEADER_LENGTH + 48
    ENTRY_SESSION_ID_OFFSET = ENTRY_HEADER_LENGTH + 72
    ENTRY_STREAM_ID_OFFSET = ENTRY_HEADER_LENGTH + 76
    ENTRY_STRINGS_OFFSET = ENTRY_HEADER_LENGTH + DESCRIPTOR_BLOCK_LENGTH
    NULL_POSITION = -1
