"""Layouts of the files in an archive folder, as tables of each field's offset, size and type.

The formats are those of spec archive-files 3 (catalog) and spec archive-files 13 (mark file). The
layout of the frame header is in ``transport.protocol.frame_header``. Entries of the catalog are
messages, whose tables are those of ``archive.protocol``.
"""

from __future__ import annotations

from aerolog.archive.protocol.catalog_records import (
    CatalogHeader,
    RecordingDescriptor,
    RecordingDescriptorHeader,
)
from aerolog.archive.protocol.mark_header import MarkFileHeader
from aerolog.transport.protocol.fixed_layout import Field
from aerolog.transport.protocol.sbe import (
    Layout,
    semantic_version,
)

CATALOG_NAME = "archive.catalog"
MARK_FILE_NAME = "archive-mark.dat"
MARK_LINK_NAME = "archive-mark.lnk"
SEGMENT_SUFFIX = ".rec"
#: Subfolder of an archive folder for files that the reference does not have and does not touch.
SIDE_FOLDER = "aerolog"

VERSION_MAJOR = 3
SEMANTIC_VERSION = semantic_version(VERSION_MAJOR, 1, 0)

NULL_TIMESTAMP = -1
MAX_I32 = 2**31 - 1
MAX_I64 = 2**63 - 1


def _fields(layout: Layout) -> tuple[Field, ...]:
    return tuple(
        Field(field.name, field.offset, field.kind.code)
        for field in layout.fixed
        if field.name != "reserved"
    )


CATALOG_HEADER_LENGTH = CatalogHeader.LAYOUT.block_length
CATALOG_HEADER = _fields(CatalogHeader.LAYOUT)

ENTRY_HEADER_LENGTH = RecordingDescriptorHeader.LAYOUT.block_length
ENTRY_ALIGNMENT = 64
ENTRY_HEADER = _fields(RecordingDescriptorHeader.LAYOUT)

DESCRIPTOR_BLOCK_LENGTH = RecordingDescriptor.LAYOUT.block_length
DESCRIPTOR = _fields(RecordingDescriptor.LAYOUT)
DESCRIPTOR_STRINGS = tuple(field.name for field in RecordingDescriptor.LAYOUT.var)

MARK_BLOCK_LENGTH = MarkFileHeader.LAYOUT.block_length
MARK_TEMPLATE_ID = MarkFileHeader.LAYOUT.template_id
MARK_SCHEMA_ID = MarkFileHeader.LAYOUT.schema.id
MARK_SCHEMA_VERSION = MarkFileHeader.LAYOUT.schema_version
# Offsets count from the end of the SBE message header, which files of old versions do not have.
MARK_BLOCK = _fields(MarkFileHeader.LAYOUT)
MARK_STRINGS = tuple(field.name for field in MarkFileHeader.LAYOUT.var)
