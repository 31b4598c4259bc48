"""Our readers against the folder that the reference wrote: everything its manifest states."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from aerolog.archive.format.archive_folder import ArchiveFolder, ScanTotals
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.catalog_map import CatalogReader
from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.protocol.enums import RecordingState
from aerolog.catalog import export_recordings, open_recording

if TYPE_CHECKING:
    from pathlib import Path

IDS = range(15)
LISTED = [0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14]
CHECKSUMMED = [11, 12]


def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", lambda found: "_" + found.group(1).lower(), name)


def generated(part: dict[str, Any]) -> list[bytes]:
    """The messages of a manifest's generator, by its own rules."""
    assert part["generator"] == "splitmix"
    span = part["maxLength"] - part["minLength"] + 1
    mask = 2**64 - 1
    messages = []
    for i in range(part["firstIndex"], part["firstIndex"] + part["count"]):
        length = part["minLength"] + (i * part["step"]) % span
        state = (part["seed"] + i * 0xD1B54A32D192ED03) & mask
        data = b""
        while len(data) < length:
            state = (state + 0x9E3779B97F4A7C15) & mask
            z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
            data += (z ^ (z >> 31)).to_bytes(8, "little")
        messages.append(data[:length])
    return messages


def test_catalog_header_is_as_stated(golden: Path, manifest: dict[str, Any]) -> None:
    stated = manifest["catalog"]
    with CatalogReader.open(golden) as catalog:
        assert catalog.version == stated["version"]
        assert catalog.next_recording_id == stated["nextRecordingId"]
        assert catalog.alignment == stated["alignment"]
        assert catalog.capacity == stated["fileLength"]
        assert catalog.end_offset == stated["endOfEntries"]


@pytest.mark.parametrize("recording_id", IDS)
def test_entry_and_descriptor_are_as_stated(
    golden: Path, by_id: dict[int, dict[str, Any]], recording_id: int
) -> None:
    stated = by_id[recording_id]
    with CatalogReader.open(golden) as catalog:
        entry = next(e for e in catalog.entries() if e.descriptor.recording_id == recording_id)
    assert entry.offset == stated["catalogEntry"]["offset"]
    assert entry.length == stated["catalogEntry"]["length"]
    assert entry.state == stated["catalogEntry"]["state"] == RecordingState[stated["state"]]
    assert entry.checksum & 0xFFFFFFFF == stated["catalogEntry"]["checksum"] & 0xFFFFFFFF
    assert {name: getattr(entry.descriptor, snake(name)) for name in stated["descriptor"]} == (
        stated["descriptor"]
    )


def test_only_valid_entries_are_listed(golden: Path, manifest: dict[str, Any]) -> None:
    with ArchiveFolder(golden) as folder:
        assert folder.catalog.ids() == manifest["listedByArchive"] == LISTED
        assert [r.recording_id for r in folder.recordings()] == LISTED


@pytest.mark.parametrize("recording_id", [i for i in IDS if i != 6])
def test_segment_files_are_found_as_stated(
    golden: Path, by_id: dict[int, dict[str, Any]], recording_id: int
) -> None:
    with ArchiveFolder(golden) as folder:
        names = folder.segment_names(recording_id)
    stated = by_id[recording_id]["segmentFiles"]
    assert sorted(names) == sorted(segment["name"] for segment in stated)


@pytest.mark.parametrize("recording_id", LISTED)
def test_content_is_as_stated(
    golden: Path, by_id: dict[int, dict[str, Any]], recording_id: int
) -> None:
    content = by_id[recording_id]["content"]
    descriptor = by_id[recording_id]["descriptor"]
    with ArchiveFolder(golden) as folder:
        recording = folder.recording(recording_id)
        totals = ScanTotals(0)
        messages = list(recording.messages(totals=totals))
    assert recording.start_position == content["startPosition"]
    assert recording.end_position == totals.position == content["endPosition"]
    assert len(messages) == totals.rows == content["messages"]
    assert totals.frames == content["dataFrames"]
    assert totals.padding_frames == content["paddingFrames"]
    assert totals.payload_bytes == content["payloadBytes"]
    assert totals.skipped_fragments == totals.checksum_mismatches == 0
    digest = hashlib.sha256(b"".join(message.payload for message in messages))
    assert digest.hexdigest() == content["sha256"]
    assert {m.stream_id for m in messages} <= {descriptor["streamId"]}
    assert {m.flags for m in messages} <= {0xC0}


@pytest.mark.parametrize("recording_id", LISTED)
def test_messages_are_those_of_the_generator_with_their_sessions(
    golden: Path, by_id: dict[int, dict[str, Any]], recording_id: int
) -> None:
    stated = by_id[recording_id]
    expected = [
        (part["sessionId"], payload) for part in stated["generator"] for payload in generated(part)
    ]
    first = stated["content"]["firstMessageIndex"] or 0
    with ArchiveFolder(golden) as folder:
        messages = list(folder.recording(recording_id).messages())
    read = [(message.session_id, message.payload) for message in messages]
    assert read == expected[first : first + stated["content"]["messages"]]


@pytest.mark.parametrize("recording_id", LISTED)
def test_positions_follow_from_the_frames(golden: Path, recording_id: int) -> None:
    with ArchiveFolder(golden) as folder:
        recording = folder.recording(recording_id)
        fragments = list(recording.messages(assemble=False))
        messages = list(recording.messages())
    descriptor = recording.descriptor
    for fragment in fragments:
        begin = fragment.position - (len(fragment.payload) + 32 + 31) // 32 * 32
        assert begin % descriptor.term_buffer_length == fragment.term_offset
        count = begin // descriptor.term_buffer_length
        assert (descriptor.initial_term_id + count - fragment.term_id) % 2**32 == 0
    ends = {fragment.position for fragment in fragments if fragment.flags & 0x40}
    assert {message.position for message in messages} == ends


@pytest.mark.parametrize("recording_id", [10])
def test_an_invalid_entry_is_no_recording(golden: Path, recording_id: int) -> None:
    with ArchiveFolder(golden) as folder, pytest.raises(Exception, match="unknown recording id"):
        folder.recording(recording_id)


@pytest.mark.parametrize("recording_id", CHECKSUMMED)
def test_checksums_of_frames_and_entries_are_ours(
    golden: Path, by_id: dict[int, dict[str, Any]], recording_id: int
) -> None:
    checksum = checksum_for("CRC-32")
    assert checksum is not None
    stated = by_id[recording_id]
    catalog = (golden / "archive.catalog").read_bytes()
    at = stated["catalogEntry"]["offset"] + 32
    body = catalog[at : at + stated["catalogEntry"]["length"]]
    assert checksum.compute(body) == stated["catalogEntry"]["checksum"]
    segment = (golden / stated["segmentFiles"][0]["name"]).read_bytes()
    end = stated["content"]["endPosition"]
    frames = bytearray(segment[:end])
    with_padding_header = 0
    at = 0
    while at < end:
        length = int.from_bytes(frames[at : at + 4], "little")
        with_padding_header += frames[at + 6] == 0
        at += (length + 31) // 32 * 32
    assert checksum.stamp(frames) == stated["content"]["dataFrames"]
    assert with_padding_header == stated["content"]["paddingFrames"]
    assert bytes(frames) == segment[:end]


@pytest.mark.parametrize("recording_id", CHECKSUMMED)
def test_a_checksummed_recording_shows_its_own_session_id(
    golden: Path, by_id: dict[int, dict[str, Any]], recording_id: int
) -> None:
    session_id = by_id[recording_id]["descriptor"]["sessionId"]
    with ArchiveFolder(golden) as folder:
        fragments = list(folder.recording(recording_id).messages(assemble=False))
    assert {fragment.session_id for fragment in fragments} == {session_id}


def test_mark_file_is_as_stated(golden: Path, manifest: dict[str, Any]) -> None:
    stated = dict(manifest["markFile"])
    mark = ArchiveMarkFile.open(golden)
    assert mark.mapped.length == stated.pop("length")
    head = mark.mapped.view(0, 8).cast("H").tolist()
    names = ("blockLength", "templateId", "schemaId", "schemaVersion")
    assert head == [stated.pop(name) for name in names]
    assert {name: getattr(mark.header, snake(name)) for name in stated} == stated
    assert mark.errors() == []
    assert not mark.is_active()


def test_recovery_gives_the_stop_positions_of_the_reference(
    golden_copy: Path, by_id: dict[int, dict[str, Any]]
) -> None:
    now_ms = 1_800_000_000_000
    with CatalogFile.open(golden_copy) as catalog:
        recovered = catalog.refresh(now_ms)
        stops = {i: catalog.descriptor(i) for i in LISTED}
    expected = {
        i: entry["afterRestart"]["stopPosition"]
        for i, entry in by_id.items()
        if "afterRestart" in entry
    }
    assert {r.recording_id: r.stop.position for r in recovered} == expected
    assert all(r.stop.unverified is None for r in recovered)
    for recording_id, descriptor in stops.items():
        stated = by_id[recording_id]["descriptor"]
        if recording_id in expected:
            assert descriptor.stop_position == expected[recording_id]
            assert descriptor.stop_timestamp == now_ms
        else:
            assert descriptor.stop_position == stated["stopPosition"]
            assert descriptor.stop_timestamp == stated["stopTimestamp"]


def test_opening_for_writing_changes_nothing_but_the_length(golden_copy: Path) -> None:
    path = golden_copy / "archive.catalog"
    before = path.read_bytes()
    with CatalogFile.open(golden_copy, capacity=len(before)):
        pass
    assert path.read_bytes() == before


def test_reading_changes_nothing(golden_copy: Path) -> None:
    before = {path.name: path.read_bytes() for path in golden_copy.iterdir()}
    for recording_id in LISTED:
        with open_recording(golden_copy, recording_id) as recording:
            recording.to_arrow()
    assert {path.name: path.read_bytes() for path in golden_copy.iterdir()} == before


def test_rewriting_every_descriptor_gives_the_same_catalog(golden: Path, tmp_path: Path) -> None:
    original = (golden / "archive.catalog").read_bytes()
    with CatalogReader.open(golden) as source:
        entries = list(source.entries())
        descriptors = [entry.descriptor for entry in entries]
    with CatalogFile.open(tmp_path, capacity=1024) as ours:
        for descriptor in descriptors:
            ours.add_recording(descriptor)
    written = bytearray((tmp_path / "archive.catalog").read_bytes())
    assert len(written) == len(original)
    # What happened to the entries after they were added: states and checksums.
    for entry in entries:
        written[entry.offset + 4 : entry.offset + 8] = entry.state.to_bytes(4, "little")
        written[entry.offset + 8 : entry.offset + 12] = entry.checksum.to_bytes(4, "little")
    assert bytes(written) == original


def test_parquet_files_hold_what_the_manifest_states(
    golden: Path, by_id: dict[int, dict[str, Any]], tmp_path: Path
) -> None:
    results = export_recordings(golden, None, tmp_path)
    assert [result.recording_id for result in results] == LISTED
    for result in results:
        stated = by_id[result.recording_id]
        table = parquet.read_table(result.path)
        digest = hashlib.sha256(b"".join(table["payload"].to_pylist()))
        assert digest.hexdigest() == stated["content"]["sha256"]
        assert table.num_rows == result.rows == stated["content"]["messages"]
        metadata = parquet.read_metadata(result.path).metadata
        descriptor = json.loads(metadata[b"aerolog.recording"])
        assert {name: descriptor[snake(name)] for name in stated["descriptor"]} == (
            stated["descriptor"]
        )
