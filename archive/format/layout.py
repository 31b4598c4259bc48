"""Layouts of the files in an archive folder, as tables of each field's offset, size and type.

The formats are those of spec archive-files 3 (catalog) and spec archive-files 13 (mark file). The
layout of the frame header is in ``transport.protocol.frame_header``. Catalog entries are also
defined as messages in ``archive.protocol``; a test checks that both definitions agree.
"""

from __future__ import annotations

from aerolog.transport.protocol.fixed_layout import Field

CATALOG_NAME = "archive.catalog"
MARK_FILE_NAME = "archive-mark.dat"
MARK_LINK_NAME = "archive-mark.lnk"
SEGMENT_SUFFIX = ".rec"
#: Subfolder of an archive folder for files that the reference does not have and does not touch.
SIDE_FOLDER = "aerolog"

VERSION_MAJOR = 3
VERSION_MINOR = 1
VERSION_PATCH = 0
SEMANTIC_VERSION = VERSION_MAJOR << 16 | VERSION_MINOR << 8 | VERSION_PATCH

NULL_POSITION = -1
NULL_TIMESTAMP = -1
MAX_I32 = 2**31 - 1
MAX_I64 = 2**63 - 1


CATALOG_HEADER_LENGTH = 32
CATALOG_HEADER = (
    Field("version", 0, "i"),
    Field("length", 4, "i"),
    Field("next_recording_id", 8, "q"),
    Field("alignment", 16, "i"),
)

ENTRY_HEADER_LENGTH = 32
ENTRY_ALIGNMENT = 64
ENTRY_HEADER = (
    Field("length", 0, "i"),
    Field("state", 4, "i"),
    Field("checksum", 8, "i"),
)

DESCRIPTOR_BLOCK_LENGTH = 80
DESCRIPTOR = (
    Field("control_session_id", 0, "q"),
    Field("correlation_id", 8, "q"),
    Field("recording_id", 16, "q"),
    Field("start_timestamp", 24, "q"),
    Field("stop_timestamp", 32, "q"),
    Field("start_position", 40, "q"),
    Field("stop_position", 48, "q"),
    Field("initial_term_id", 56, "i"),
    Field("segment_file_length", 60, "i"),
    Field("term_buffer_length", 64, "i"),
    Field("mtu_length", 68, "i"),
    Field("session_id", 72, "i"),
    Field("stream_id", 76, "i"),
)
DESCRIPTOR_STRINGS = ("stripped_channel", "original_channel", "source_identity")

MARK_MESSAGE_HEADER_LENGTH = 8
MARK_BLOCK_LENGTH = 128
MARK_TEMPLATE_ID = 200
MARK_SCHEMA_ID = 100
MARK_SCHEMA_VERSION = 2
MARK_HEADER_LENGTH = 8192
MARK_MESSAGE_HEADER = (
    Field("block_length", 0, "H"),
    Field("template_id", 2, "H"),
    Field("schema_id", 4, "H"),
    Field("schema_version", 6, "H"),
)
# Offsets count from the end of the SBE message header, which files of old versions do not have.
MARK_BLOCK = (
    Field("version", 0, "i"),
    Field("activity_timestamp", 8, "q"),
    Field("start_timestamp", 16, "q"),
    Field("pid", 24, "q"),
    Field("control_stream_id", 32, "i"),
    Field("local_control_stream_id", 36, "i"),
    Field("events_stream_id", 40, "i"),
    Field("header_length", 44, "i"),
    Field("error_buffer_length", 48, "i"),
    Field("archive_id", 56, "q"),
)
MARK_STRINGS = ("control_channel", "local_control_channel", "events_channel", "aeron_directory")


def version_text(version: int) -> str:
    """Format a semantic version as ``major.minor.patch``, for example ``3.1.0``."""
    return f"{(version >> 16) & 0xFF}.{(version >> 8) & 0xFF}.{version & 0xFF}"
