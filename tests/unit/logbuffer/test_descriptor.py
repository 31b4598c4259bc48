"""The log file: its length, metadata and first tails (spec log-buffers 1 to 5)."""

from __future__ import annotations

import dataclasses
import struct

import pytest

from aerolog.transport.errors import FileFormatError
from aerolog.transport.logbuffer import metadata
from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.logbuffer.metadata import LogMetadata, LogType
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol.fixed_layout import Field


def test_file_lengths_are_those_of_the_reference():
    assert log_file_length(65536) == 200_704
    assert log_file_length(65536, 1024 * 1024) == 1_048_576


@pytest.mark.parametrize(
    ("term_length", "page_size"),
    [
        (0, 4096),
        (65535, 4096),
        (32768, 4096),
        (1 << 31, 4096),
        (65536, 2048),
        (65536, 4097),
        (65536, 1 << 31),
        (-65536, 4096),
    ],
)
def test_lengths_that_no_log_has_are_refused_by_name(term_length, page_size):
    with pytest.raises(FileFormatError, match=r"term length|page size"):
        log_file_length(term_length, page_size)


def test_the_fields_do_not_overlap_and_stay_in_the_section():
    used: dict[int, str] = {}
    template = Field("default_header", metadata.DEFAULT_HEADER_OFFSET, "32s")
    for field in (*metadata.FIELDS, *metadata.SHARED_FIELDS, template):
        for byte in range(field.offset, field.offset + struct.calcsize("<" + field.format)):
            assert byte not in used, (field.name, used.get(byte))
            used[byte] = field.name
    assert max(used) < 508


def test_the_template_header_has_the_bytes_of_the_worked_example(world):
    section = bytes(world.logs.file)[-4096:]
    assert section[320:352].hex() == (
        "0000000000c001000000000078 4dadaee90300007150c22f0000000000000000".replace(" ", "")
    )
    assert section[352:448] == bytes(96)
    assert section[508:] == bytes(4096 - 508)


def test_every_field_stands_at_its_offset(new_world):
    distinct = {
        field.name: index + 1
        for index, field in enumerate(metadata.FIELDS)
        if field.format in ("q", "i")
        and field.name not in ("initial_term_id", "mtu_length", "term_length", "page_size")
    }
    flags = {
        field.name: True
        for field in metadata.FIELDS
        if field.format == "B" and field.name != "type"
    }
    logs = new_world(**distinct, **flags, type=LogType.EXCLUSIVE_PUBLICATION).logs
    section = bytes(logs.file)[-4096:]
    for field in metadata.FIELDS:
        (value,) = struct.unpack_from("<" + field.format, section, field.offset)
        assert value == getattr(logs.metadata, field.name), field.name


def test_the_offsets_that_native_code_uses_are_those_of_the_table(world):
    logs = world.logs
    at = {field.name: field.offset for field in metadata.SHARED_FIELDS}
    section = logs.file.view(len(logs.file) - 4096, 4096)
    struct.pack_into("<q", section, at["term_tail_counter_1"], 0x0123456789ABCDEF)
    struct.pack_into("<i", section, at["active_term_count"], 77)
    struct.pack_into("<q", section, at["end_of_stream_position"], 4096)
    struct.pack_into("<i", section, at["is_connected"], 0)
    struct.pack_into("<i", section, at["active_transport_count"], 3)
    struct.pack_into("<B", section, at["is_publication_revoked"], 1)
    assert logs.raw_tail(1) == 0x0123456789ABCDEF
    assert logs.active_term_count == 77
    assert logs.end_of_stream_position == 4096
    assert not logs.is_connected
    assert logs.active_transport_count == 3
    assert logs.is_publication_revoked


def test_shared_words_that_the_driver_sets_are_seen_by_another_opening(world):
    other = LogBuffers.open(world.logs.file)
    world.logs.is_connected = False
    assert not other.is_connected
    world.logs.is_connected = True
    world.logs.end_of_stream_position = 96
    world.logs.revoke()
    assert other.is_connected
    assert other.end_of_stream_position == 96
    assert other.is_publication_revoked


def tails(world):
    raw = [world.logs.raw_tail(index) for index in range(3)]
    return [(value >> 32, value & 0xFFFFFFFF) for value in raw]


def test_a_fresh_publication_starts_in_its_first_term(world):
    first = world.logs.initial_term_id
    assert tails(world) == [(first, 0), (first - 2, 0), (first - 1, 0)]
    assert world.logs.active_term_count == 0
    assert world.logs.producer_position == 0
    assert world.logs.end_of_stream_position == 2**63 - 1


def test_a_publication_can_start_anywhere(new_world):
    world = new_world(initial_term_id=-5, term_id=2, term_offset=96)
    assert tails(world) == [(1, 0), (2, 96), (0, 0)]
    assert world.logs.active_term_count == 7
    assert world.logs.producer_position == 458_848


def test_term_ids_wrap(new_world):
    world = new_world(initial_term_id=2**31 - 1, term_id=-(2**31))
    assert world.logs.active_term_count == 1
    assert world.logs.producer_position == 65536


@pytest.mark.parametrize(
    "start",
    [{"term_id": 801263728}, {"term_offset": 33}, {"term_offset": 65568}, {"term_offset": -32}],
)
def test_impossible_starts_are_refused(new_world, start):
    with pytest.raises(FileFormatError, match="no log starts at"):
        new_world(**start)


def test_an_image_log_has_no_tails(new_world):
    logs = new_world(type=LogType.IMAGE, term_offset=4096).logs
    assert [logs.raw_tail(index) for index in range(3)] == [0, 0, 0]
    assert logs.active_term_count == 0


def test_a_log_opens_with_what_it_was_created_with(world):
    opened = LogBuffers.open(world.logs.file)
    assert opened.metadata == world.logs.metadata
    assert (opened.session_id, opened.stream_id) == (-1364374152, 1001)
    assert (opened.term_length, opened.mtu_length) == (65536, 1408)
    assert opened.position_bits_to_shift == 16
    assert (opened.max_payload_length, opened.max_message_length) == (1376, 8192)
    assert opened.max_possible_position == 140_737_488_355_328


def test_metadata_is_at_the_end_of_a_file_with_large_pages(new_world):
    world = new_world(page_size=1024 * 1024)
    assert len(world.logs.file) == 1_048_576
    assert LogBuffers.open(world.logs.file).metadata == world.logs.metadata


def corrupted(world, name, value):
    field = next(each for each in metadata.FIELDS if each.name == name)
    start = len(world.logs.file) - 4096 + field.offset
    world.logs.file.view(start, struct.calcsize(field.format))[:] = struct.pack(
        "<" + field.format, value
    )
    return world.logs.file


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("term_length", 0),
        ("term_length", -65536),
        ("term_length", 65537),
        ("term_length", 131072),
        ("term_length", 1 << 30),
        ("page_size", 0),
        ("page_size", 5000),
        ("page_size", -4096),
        ("mtu_length", 0),
        ("mtu_length", 32),
        ("mtu_length", 1407),
        ("mtu_length", 65536),
        ("mtu_length", -64),
        ("type", 9),
    ],
)
def test_garbage_in_the_metadata_is_refused(world, name, value):
    with pytest.raises(FileFormatError):
        LogBuffers.open(corrupted(world, name, value))


@pytest.mark.parametrize("length", [8, 4088, 4096, 65536])
def test_a_truncated_log_is_refused(length):
    with pytest.raises(FileFormatError):
        LogBuffers.open(MappedFile.anonymous(length))


def test_a_file_of_another_length_is_not_made_a_log(world):
    with pytest.raises(FileFormatError, match="200704"):
        LogBuffers.create(MappedFile.anonymous(200_705), world.logs.metadata)


def test_views_of_a_term_keep_the_log_mapped(new_world):
    world = new_world()
    world.publication(exclusive=True).offer(b"kept")
    term = world.logs.term(0)
    del world
    assert bytes(term[32:36]) == b"kept"
    assert term.readonly


def test_a_partition_that_is_not_there_is_an_index_error(world):
    for index in (-1, 3):
        with pytest.raises(IndexError):
            world.logs.term(index)
        with pytest.raises(IndexError):
            world.logs.raw_tail(index)


def test_touching_every_page_changes_nothing(world):
    world.publication(exclusive=True).offer(b"x" * 1000)
    before = bytes(world.logs.file)
    world.logs.pre_touch()
    assert bytes(world.logs.file) == before


def test_metadata_decodes_what_it_encodes(world):
    changed = dataclasses.replace(
        world.logs.metadata, entity_tag=-1, untethered_linger_timeout_ns=5_000_000_000, tether=True
    )
    assert isinstance(changed, LogMetadata)
    assert metadata.decode(metadata.encode(changed)) == changed
