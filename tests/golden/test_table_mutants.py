"""Each number of a table is changed once, and a comparison with the reference's bytes fails.

As `test_layout_mutants` for what is no message of a schema: frames, commands and their answers, the
records of files and the files of a node. Numbers of native code are changed in
`test_native_mutants`; the comparisons for them stand here.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import written_layouts as written
from golden_data import GOLDEN_ARCHIVE, layouts_of_the_reference, manifest
from mark_headers import cluster_header
from node_steps import with_ours

from aerolog.archive.format import catalog_file, catalog_map, descriptor
from aerolog.archive.format.catalog_file import CatalogFile, CatalogReader
from aerolog.archive.format.checksum import checksum_for
from aerolog.cluster import protocol as cp
from aerolog.cluster.files import (
    ClusterMarkFile,
    layout,
    node_state,
    read_recording_log,
    recording_log,
)
from aerolog.cluster.files import mark_file as cluster_mark
from aerolog.cluster.protocol import ClusterComponentType, MarkFileHeader
from aerolog.cluster.protocol.node_state_messages import NODE_STATE_SCHEMA
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.logbuffer import metadata
from aerolog.transport.logbuffer.descriptor import LogBuffers, log_file_length
from aerolog.transport.memory import mark_file
from aerolog.transport.memory.broadcast import BroadcastReceiver, BroadcastTransmitter
from aerolog.transport.memory.counters import (
    RECORD_ALLOCATED,
    RECORD_RECLAIMED,
    RECORD_UNUSED,
    CounterSnapshot,
    CountersReader,
)
from aerolog.transport.memory.error_log import ErrorObservation, read_error_log
from aerolog.transport.memory.loss_report import LossEntry, read_loss_report
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer
from aerolog.transport.protocol import commands, frame_codec, frame_header, frames, responses, sbe
from aerolog.transport.protocol.fixed_layout import Field, offsets, packer
from aerolog.transport.protocol.layout import DriverMessage, FieldKind, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

REFERENCE = layouts_of_the_reference()
WRITTEN: dict[str, str] = REFERENCE["written"]


class Mutant(NamedTuple):
    """Another value for an attribute of a module or class, or for a key of a dictionary."""

    what: str
    owner: Any
    name: Any
    value: Any


def survivors(is_right: Callable[[], bool], mutants: Iterable[Mutant]) -> list[str]:
    """The mutants with which a comparison is still right; what raises has noticed."""

    def notices() -> bool:
        try:
            return not is_right()
        except Exception:
            return True

    assert is_right()
    found = []
    for mutant in mutants:
        with pytest.MonkeyPatch.context() as patch:
            if isinstance(mutant.owner, dict):
                patch.setitem(mutant.owner, mutant.name, mutant.value)
            else:
                patch.setattr(mutant.owner, mutant.name, mutant.value)
            if not notices():
                found.append(mutant.what)
    assert is_right()
    return found


def numbers(owner: Any, *names: str, by: int = 1) -> Iterator[Mutant]:
    """Numbers of a module, each of them more by something."""
    for name in names:
        yield Mutant(name, owner, name, getattr(owner, name) + by)


def moved(fields: tuple[Field, ...], length: int) -> Iterator[tuple[str, struct.Struct]]:
    """A table with one field moved by a byte, or with two traded, as what packs it."""
    for at, field in enumerate(fields):
        other = (*fields[:at], field._replace(offset=field.offset + 1), *fields[at + 1 :])
        yield f"offset of {field.name}", _packed(other, length + 1)
    for at, (one, two) in enumerate(pairwise(fields)):
        traded = (*fields[:at], one._replace(format=two.format), two._replace(format=one.format))
        if one.format != two.format:
            yield f"{one.name} as {two.format}", _packed((*traded, *fields[at + 2 :]), length + 8)


def _packed(fields: tuple[Field, ...], length: int) -> struct.Struct:
    at, placed = 0, []
    for field in fields:
        at = max(at, field.offset)
        placed.append(field._replace(offset=at))
        at += field.size
    return packer(tuple(placed), max(length, at))


def entries_of(name: str, owner: Any, table: dict[str, int]) -> Iterator[Mutant]:
    """Each offset of a dictionary, one more."""
    return (Mutant(f"{name} {key}", table, key, at + 1) for key, at in table.items())


# -- messages between clients and drivers ----------------------------------------------------------

MESSAGES = written.driver_messages()


def message_mutants(kind: type[DriverMessage]) -> Iterator[Mutant]:
    """A message with another type, another kind of a field, or two fields traded."""
    yield Mutant("type", kind, "TYPE_ID", kind.TYPE_ID + 1)
    table = kind.LAYOUT
    others = {
        FieldKind.I64: FieldKind.I32,
        FieldKind.I32: FieldKind.I64,
        FieldKind.I16: FieldKind.I32,
        FieldKind.U16: FieldKind.I16,
    }
    for at, field in enumerate(table):
        for what, changed in (
            ("kind", replace(field, kind=others.get(field.kind, field.kind))),
            ("alignment", replace(field, align=1)),
            ("alignment", replace(field, align=8)),
        ):
            # A string with no alignment of its own has none to be wrong about.
            if changed != field and not (what == "alignment" and field.align == 1):
                value = (*table[:at], changed, *table[at + 1 :])
                yield Mutant(f"{what} of {field.name}: {changed.align}", kind, "LAYOUT", value)
    for at, (one, two) in enumerate(pairwise(table)):
        value = (*table[:at], two, one, *table[at + 2 :])
        yield Mutant(f"{two.name} before {one.name}", kind, "LAYOUT", value)


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_between_clients_and_drivers(name: str) -> None:
    message = MESSAGES[name]
    kind = type(message)
    expected = bytes.fromhex(WRITTEN[name])

    def is_right() -> bool:
        return (
            int(WRITTEN[f"type {name}"]) == kind.TYPE_ID
            and encode(message) == expected
            and kind(**decode(kind.LAYOUT, expected)) == message
        )

    assert not survivors(is_right, message_mutants(kind))


def test_each_message_is_found_by_its_type() -> None:
    for name, message in MESSAGES.items():
        table = commands.COMMANDS if isinstance(message, commands.Command) else responses.RESPONSES
        assert table[int(WRITTEN[f"type {name}"])] is type(message)


# -- frames ----------------------------------------------------------------------------------------

#: Numbers that the codec takes from `frames` whenever it writes or reads, not once for its tables.
FRAME_NUMBERS = {
    "data": ("CURRENT_VERSION",),
    "error": ("ERROR_TEXT_LENGTH_AT",),
    "resolution": ("RESOLUTION_ADDRESS_AT", "RESOLUTION_TYPE_IPV4", "RESOLUTION_TYPE_IPV6"),
}


def frame_mutants(name: str, kind: type[frame_codec.AnyFrame]) -> Iterator[Mutant]:
    """A frame with another type or length, a field elsewhere, or two fields traded."""
    yield Mutant("type", kind, "TYPE", kind.TYPE + 1)
    if kind is not frame_codec.PadFrame:  # the length of which is that of the gap
        yield Mutant("length", kind, "LENGTH", kind.LENGTH + 4)
    table = kind.LAYOUT
    for field, (at, code) in table.items():
        yield Mutant(f"offset of {field}", kind, "LAYOUT", table | {field: (at + 1, code)})
    for one, two in pairwise(table):
        traded = table | {one: table[two], two: table[one]}
        yield Mutant(f"{one} in place of {two}", kind, "LAYOUT", traded)
    codes = ("<iBBi", "<iBHB", "<hBBH", "<iHBB", "<ixBBH")
    for code in codes if kind.TYPE else ():  # a type of 0 is the same in any place
        yield Mutant(f"header {code}", frame_codec, "_HEADER", struct.Struct(code))
    yield from numbers(frames, *FRAME_NUMBERS.get(name, ()))
    if kind is frame_codec.ResolutionFrame:
        for code in ("<BBHq", "<BHHi", "<HBBi", "<BBxHi"):
            yield Mutant(f"entry {code}", frame_codec, "_ENTRY_HEAD", struct.Struct(code))
        for code in ("<i", ">h", "<b"):
            yield Mutant(f"name {code}", frame_codec, "_NAME_LENGTH", struct.Struct(code))


@pytest.mark.parametrize("name", written.FRAMES)
def test_frames(name: str) -> None:
    frame, _ = written.FRAMES[name]
    expected = bytes.fromhex(WRITTEN[f"frame {name}"])

    def is_right() -> bool:
        return (
            frame_codec.encode_frame(frame) == expected
            and frame_codec.decode_frame(expected) == frame
        )

    assert not survivors(is_right, frame_mutants(name, type(frame)))


@pytest.mark.parametrize("name", written.FRAMES)
def test_frames_of_native_code(name: str) -> None:
    expected = bytes.fromhex(WRITTEN[f"frame {name}"])
    frame, _ = written.FRAMES[name]
    kind, fields = frames.read_frame(expected)
    assert kind == frame.TYPE
    if name == "resolution":
        return
    assert frames.rewrite_frame(expected) == expected
    assert fields is not None
    values = {field: getattr(frame, field, None) for field in fields}
    for field, value in values.items():
        if value is not None:
            assert fields[field] == (value.encode() if isinstance(value, str) else value), field


@pytest.mark.parametrize("name", written.CONSTANTS)
def test_flags_and_limits_of_frames(name: str) -> None:
    assert getattr(frames, name) == int(WRITTEN[name])


# -- logs ------------------------------------------------------------------------------------------

SECTION = bytes.fromhex(REFERENCE["log_metadata"])
#: The log was begun at byte 96 of term 2, seven terms after its first one.
SHARED = {
    "term_tail_counter_0": 1 << 32,
    "term_tail_counter_1": 2 << 32 | 96,
    "active_term_count": 7,
    "end_of_stream_position": 2**63 - 1,
}
#: Words that are 0 there, with their offsets as in spec log-buffers 2.
SHARED_AT = {
    "term_tail_counter_2": 16,
    "is_connected": 136,
    "active_transport_count": 140,
    "is_publication_revoked": 496,
}


def test_the_words_of_a_log_that_change() -> None:
    def is_right() -> bool:
        table = {field.name: field for field in metadata.SHARED_FIELDS}
        found = {
            name: struct.unpack_from(f"<{table[name].format}", SECTION, table[name].offset)[0]
            for name in SHARED
        }
        return found == SHARED and {name: table[name].offset for name in SHARED_AT} == SHARED_AT

    fields = metadata.SHARED_FIELDS
    tables = (
        (*fields[:at], field._replace(offset=field.offset + 1), *fields[at + 1 :])
        for at, field in enumerate(fields)
    )
    assert not survivors(
        is_right,
        (Mutant(str(at), metadata, "SHARED_FIELDS", table) for at, table in enumerate(tables)),
    )


def test_the_header_that_a_log_has_for_its_frames() -> None:
    log = metadata.LogMetadata(
        correlation_id=0, session_id=78, stream_id=1001, initial_term_id=-5, term_length=131072,
        mtu_length=2048, type=metadata.LogType.EXCLUSIVE_PUBLICATION, term_id=2, term_offset=96,
    )  # fmt: skip

    def is_right() -> bool:
        return metadata.encode(log)[320:448] == SECTION[320:448]

    assert not survivors(is_right, numbers(metadata, "DEFAULT_HEADER_OFFSET"))


def test_the_header_of_a_frame_as_a_table() -> None:
    expected = bytes.fromhex(WRITTEN["frame data"])
    values = vars_of(written.FRAMES["data"][0])
    ordered = [values[field.name] for field in frame_header.FRAME_HEADER]
    mutants = [
        Mutant(what, frame_header, "FRAME_HEADER_STRUCT", made)
        for what, made in moved(frame_header.FRAME_HEADER, 32)
    ]
    assert not survivors(
        lambda: frame_header.FRAME_HEADER_STRUCT.pack(*ordered) == expected, mutants
    )


def vars_of(frame: frame_codec.AnyFrame) -> dict[str, int]:
    """All nine fields of the header of a frame without a payload."""
    found = {name: getattr(frame, name) for name in (*frame.LAYOUT, "flags")}
    return found | {"frame_length": frame.LENGTH, "version": 0, "type": frame.TYPE}


@pytest.mark.parametrize("name", written.PARTS)
def test_records_of_files(name: str) -> None:
    """Of which native code has the layouts."""
    assert written.part_by_ours(name).hex() == WRITTEN[name]


def golden_part(name: str, length: int) -> MappedFile:
    mapped = MappedFile.anonymous(length)
    data = bytes.fromhex(WRITTEN[name])
    mapped.view(0, len(data))[:] = data
    return mapped


def test_records_of_counters_are_read() -> None:
    mapped = golden_part("counters", 4 * (512 + 128))
    counters = CountersReader(mapped, 0, 4 * 512, 4 * 512, 4 * 128)
    big = written.LONG
    first, second = counters
    assert first == CounterSnapshot(0, 11, big, 5, -6, 7, "a label", b"a key" + bytes(107))
    assert second == CounterSnapshot(1, -22, -big, 50, 60, -70, "long " * 76, bytes(range(1, 113)))
    assert counters.max_counter_id == 3
    states = [counters.counter_state(counter_id) for counter_id in range(4)]
    assert states == [RECORD_ALLOCATED, RECORD_ALLOCATED, RECORD_RECLAIMED, RECORD_UNUSED]
    assert counters.free_for_reuse_deadline_ms(2) == 6000
    assert [counters.counter_type_id(counter_id) for counter_id in (0, 1)] == [11, -22]


def test_records_of_errors_are_read() -> None:
    assert read_error_log(golden_part("error log", 1024)) == [
        ErrorObservation(2, 1000, 3000, "first"),
        ErrorObservation(1, 2000, 2000, "second-one"),
    ]


def test_records_of_losses_are_read() -> None:
    channel = "aeron:udp?endpoint=localhost:1"
    assert read_loss_report(golden_part("loss report", 1024)) == [
        LossEntry(1, 4711, written.LONG, written.LONG, -7, 8, channel, "10.1.2.3:40123"),
        LossEntry(2, 22, 6, 9999, 7, -8, "aeron:ipc" + "x" * 40, "source"),
    ]


def test_records_of_the_ring_are_read() -> None:
    ring = ManyToOneRingBuffer(golden_part("ring buffer", 256 + 768))
    read: list[tuple[int, bytes]] = []
    while ring.read(lambda kind, data: read.append((kind, bytes(data)))):
        pass  # up to the end of the buffer, then from its start
    words = (each.split() for each in written.MESSAGES)
    assert read == [(int(kind), bytes.fromhex(text)) for kind, text in words][2:]
    assert ring.consumer_heartbeat_ms == written.LONG
    assert ring.next_correlation_id() == 2


def test_records_of_the_broadcast_buffer_are_read() -> None:
    mapped = golden_part("broadcast buffer", 256 + 128)
    receiver = BroadcastReceiver(mapped)
    BroadcastTransmitter(mapped).send(99, b"new")
    read = []
    while (message := receiver.receive_next()) is not None:
        read.append(message)
    kind, text = written.MESSAGES[-1].split()
    assert read == [(int(kind), bytes.fromhex(text)), (99, b"new")]


def test_a_log_of_the_reference_in_native_code() -> None:
    mapped = MappedFile.anonymous(log_file_length(131072))
    mapped.view(mapped.length - 4096, len(SECTION))[:] = SECTION
    log = LogBuffers.open(mapped)
    assert [log.raw_tail(index) for index in range(3)] == [1 << 32, 2 << 32 | 96, 0]
    assert (log.active_term_count, log.is_connected, log.active_transport_count) == (7, False, 0)
    assert log.end_of_stream_position == 2**63 - 1
    assert not log.is_publication_revoked
    log.is_connected = True
    log.revoke()
    changed = bytes(mapped.view(mapped.length - 4096, len(SECTION)))
    differing = {at for at in range(len(SECTION)) if changed[at] != SECTION[at]}
    assert differing == {136, 496}


# -- catalog ---------------------------------------------------------------------------------------


def test_a_catalog(tmp_path: Path) -> None:
    stated = manifest()["recordings"]
    raw = (GOLDEN_ARCHIVE / "archive.catalog").read_bytes()
    with CatalogReader.open(GOLDEN_ARCHIVE) as catalog:
        recordings = [entry.descriptor for entry in catalog.entries()]
    number = iter(range(10**6))

    def is_right() -> bool:
        folder = tmp_path / str(next(number))
        folder.mkdir()
        with CatalogFile.open(folder, capacity=len(raw)) as catalog:
            for found, entry in zip(recordings, stated, strict=True):
                has_sum = entry["catalogEntry"]["checksum"] != 0
                catalog.checksum = checksum_for("CRC-32") if has_sum else None
                catalog.add_recording(found)
        data = bytearray((folder / "archive.catalog").read_bytes())
        for entry in stated:  # the two that were invalidated and deleted
            state_at = entry["catalogEntry"]["offset"] + 4
            if entry["catalogEntry"]["state"] != 1:
                data[state_at] = raw[state_at]
        return bytes(data) == raw

    headers = {
        "_HEADER": moved(catalog_file.CATALOG_HEADER, catalog_file.CATALOG_HEADER_LENGTH),
    }
    mutants = [
        Mutant(f"{name} {what}", catalog_file, name, made)
        for name, made_of in headers.items()
        for what, made in made_of
    ]
    blocks = moved(descriptor.DESCRIPTOR, descriptor.DESCRIPTOR_BLOCK_LENGTH)
    mutants += [Mutant(what, descriptor, "_BLOCK", made) for what, made in blocks]
    mutants += numbers(descriptor, "ENTRY_ALIGNMENT", by=64)
    mutants += numbers(descriptor, "ENTRY_HEADER_LENGTH", by=32)
    mutants += numbers(catalog_file, "ENTRY_ALIGNMENT", "CATALOG_HEADER_LENGTH", "SEMANTIC_VERSION")
    mutants += numbers(catalog_file, "ENTRY_HEADER_LENGTH", by=8)
    mutants += entries_of("entry", catalog_file, catalog_file.ENTRY)
    mutants += [Mutant("next id", catalog_map.HEADER, "next_recording_id", 12)]
    assert not survivors(is_right, mutants)


# -- files of a node -------------------------------------------------------------------------------


def test_the_recording_log(tmp_path: Path) -> None:
    number = iter(range(10**6))
    _, _, theirs = WRITTEN["recording.log"].partition(" ")
    _, _, removed = WRITTEN["removed recording.log"].partition(" ")
    entries = [entry.encode() for entry in read_recording_log(bytes.fromhex(theirs))[0]]

    def is_right() -> bool:
        folder = tmp_path / str(next(number))
        folder.mkdir()
        with_ours(folder, written.NODE_STEPS)
        left, _, _ = read_recording_log(bytes.fromhex(removed).ljust(128, b"\0"))
        return (
            written.file_text(folder / "recording.log") == WRITTEN["recording.log"]
            and [entry.leadership_term_id for entry in left] == [1]
            and [e.encode() for e in read_recording_log(bytes.fromhex(theirs))[0]] == entries
        )

    fields, end = layout.ENTRY_FIELDS, layout.ENDPOINT_OFFSET
    mutants = [Mutant(what, recording_log, "ENTRY", made) for what, made in moved(fields, end)]
    mutants += [
        Mutant(f"in place {name}", recording_log._AT, name, recording_log._AT[name] + 1)
        for name in ("log_position", "type")
    ]
    mutants += numbers(recording_log, "ENDPOINT_OFFSET", "REMOVED")
    mutants += numbers(recording_log, "ENTRY_ALIGNMENT", by=64)
    mutants += [Mutant("INVALID_FLAG", recording_log, "INVALID_FLAG", 1 << 30)]
    assert not survivors(is_right, mutants)


def test_the_node_state(tmp_path: Path) -> None:
    number = iter(range(10**6))
    _, _, theirs = WRITTEN["node-state.dat"].partition(" ")

    def is_right() -> bool:
        folder = tmp_path / str(next(number))
        folder.mkdir()
        with_ours(folder, written.NODE_STEPS)
        read = tmp_path / str(next(number))
        read.mkdir()
        (read / "node-state.dat").write_bytes(bytes.fromhex(theirs).ljust(1024, b"\0"))
        return written.file_text(folder / "node-state.dat") == WRITTEN["node-state.dat"] and (
            tuple(node_state.NodeStateFile(read).candidate_term) == (3, 44, 55)
        )

    at = node_state._AT
    mutants = [Mutant(f"in place {name}", at, name, at[name] + 1) for name in at]
    mutants += numbers(node_state, "NODE_STATE_VERSION")
    mutants += numbers(node_state, "NODE_STATE_LENGTH", by=4096)
    mutants += numbers(node_state, "FIRST_FRAME_OFFSET", by=8)
    assert not survivors(is_right, mutants)


@pytest.mark.parametrize("life", written.MARKS)
def test_mark_files(tmp_path: Path, life: str) -> None:
    number = iter(range(10**6))
    kinds = {"terminated": "CONTAINER", "failed": "BACKUP"}
    kind = ClusterComponentType[kinds.get(life, "CONSENSUS_MODULE")]

    def is_right() -> bool:
        folder = tmp_path / str(next(number))
        folder.mkdir()
        clock = ManualClock(epoch_ms=2_000_000)
        header = cluster_header(
            component_type=kind,
            start_timestamp=2_000_000,
            pid=77,
            member_id=2,
            cluster_id=3,
            aeron_directory="/dev/shm/aeron",
            control_channel="aeron:ipc?term-length=128k",
            ingress_channel="aeron:udp?endpoint=localhost:9020",
            authenticator="io.aeron.security.DefaultAuthenticatorSupplier",
            services_cluster_dir="/tmp/cluster",
        )
        mark = ClusterMarkFile.claim(folder, header, clock=clock)
        if life == "failed":
            mark.failed_start()
        elif life != "claimed":
            if life == "ready":
                clock.advance_ns(500_000_000)
            mark.ready()
            if life == "terminated":
                mark.terminated()
        return written.mark_text(folder / "cluster-mark.dat") == WRITTEN[f"{life} mark"]

    defaults = MarkFileHeader.__init__.__kwdefaults__
    mutants = [
        Mutant(f"default of {name}", defaults, name, defaults[name] + 4096)
        for name in ("header_length", "error_buffer_length")
    ]
    mutants += numbers(mark_file, "MARK_HEADER_LENGTH", by=4096)
    if life in ("ready", "terminated"):
        mutants += numbers(ClusterMarkFile, "VERSION")
    if life == "failed":
        mutants += numbers(ClusterMarkFile, "FAILED_VERSION")
    if life in ("terminated", "failed"):
        mutants += numbers(cluster_mark, "TERMINATED")
    assert not survivors(is_right, mutants)


# -- what all messages have in common --------------------------------------------------------------


def test_lengths_before_groups_and_texts() -> None:
    kinds = {"": cp.MESSAGES, "node.": NODE_STATE_SCHEMA.messages}
    encoded = [
        (kind, bytes.fromhex(REFERENCE["messages"][f"{prefix}{kind.LAYOUT.name}"]))
        for prefix, table in kinds.items()
        for kind in table.values()
    ]
    messages = [(kind.decode(data), data) for kind, data in encoded]
    mutants = [
        Mutant(f"{name} {code}", sbe, name, struct.Struct(code))
        for name, codes in {
            "GROUP_HEADER": ("<HI", "<IH", ">HH"),
            "VAR_LENGTH": ("<H", ">I"),
            "FRAMED_HEADER": ("<4Hh", "<4H2xi"),
        }.items()
        for code in codes
    ]
    assert not survivors(
        lambda: all(message.encode() == data for message, data in messages), mutants
    )


def test_the_offsets_of_the_catalog_are_those_of_its_messages() -> None:
    assert offsets(catalog_map.ENTRY_HEADER) == catalog_map.ENTRY
