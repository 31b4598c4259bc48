"""The numbers of offsets.pxd are those of the message tables."""

from pathlib import Path

import pytest
from native_constants import native_constants

from aerolog.archive import protocol
from aerolog.archive.format import layout
from aerolog.archive.protocol import (
    HEADER_LENGTH,
    CatalogHeader,
    RecordingDescriptor,
    RecordingDescriptorHeader,
    RecordingProgress,
    RecordingState,
)

SOURCE = Path(protocol.__file__).with_name("offsets.pxd")


@pytest.fixture(scope="module")
def native() -> dict[str, int]:
    """Constants by name."""
    return native_constants(SOURCE)


def offsets_of(message: type[protocol.Message]) -> dict[str, int]:
    return {field.name: field.offset for field in message.LAYOUT.fixed}


def test_headers_of_messages(native):
    names = ("BLOCK_LENGTH", "TEMPLATE_ID", "SCHEMA_ID", "SCHEMA_VERSION")
    assert [native[f"{name}_OFFSET"] for name in names] == [0, 2, 4, 6]
    assert native["MESSAGE_HEADER_LENGTH"] == HEADER_LENGTH
    assert native["SCHEMA_ID"] == protocol.SCHEMA_ID
    assert native["SCHEMA_VERSION"] == protocol.SCHEMA_VERSION


def test_recording_progress(native):
    table = RecordingProgress.LAYOUT
    assert native["PROGRESS_TEMPLATE_ID"] == table.template_id
    assert native["PROGRESS_BLOCK_LENGTH"] == table.block_length
    for name, offset in offsets_of(RecordingProgress).items():
        assert native[f"PROGRESS_{name.upper()}_OFFSET"] == HEADER_LENGTH + offset
    assert native["PROGRESS_LENGTH"] == HEADER_LENGTH + table.block_length


def test_catalog_entries(native):
    header = offsets_of(RecordingDescriptorHeader)
    assert native["ENTRY_LENGTH_OFFSET"] == header["length"]
    assert native["ENTRY_STATE_OFFSET"] == header["state"]
    assert native["ENTRY_HEADER_LENGTH"] == RecordingDescriptorHeader.LAYOUT.block_length
    assert native["ENTRY_VALID"] == RecordingState.VALID
    assert native["DESCRIPTOR_BLOCK_LENGTH"] == RecordingDescriptor.LAYOUT.block_length
    body = offsets_of(RecordingDescriptor)
    for name in ("recording_id", "stop_position", "session_id", "stream_id"):
        at = native[f"ENTRY_{name.upper()}_OFFSET"]
        assert at == native["ENTRY_HEADER_LENGTH"] + body[name]
    assert native["NULL_POSITION"] == protocol.NULL_POSITION


def test_files_have_the_lengths_of_their_messages():
    assert layout.CATALOG_HEADER_LENGTH == CatalogHeader.LAYOUT.block_length == 32
    assert layout.ENTRY_HEADER_LENGTH == RecordingDescriptorHeader.LAYOUT.block_length == 32
    assert layout.DESCRIPTOR_BLOCK_LENGTH == RecordingDescriptor.LAYOUT.block_length == 80


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (layout.CATALOG_HEADER, CatalogHeader),
        (layout.ENTRY_HEADER, RecordingDescriptorHeader),
        (layout.DESCRIPTOR, RecordingDescriptor),
    ],
)
def test_files_have_the_fields_of_their_messages(table, message):
    fields = [(f.name, f.offset, f.kind.code) for f in message.LAYOUT.fixed if f.name != "reserved"]
    assert [(field.name, field.offset, field.format) for field in table] == fields
