"""Every kind of file: what it is told to be, and that its rows stand where they are said to."""

from __future__ import annotations

import json
import shutil
import struct
from typing import TYPE_CHECKING

import pytest
from golden_data import copy_archive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from node_steps import STEPS, with_ours
from shared_memory import memory_folder

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.format.catalog_redo import REDO_NAME
from aerolog.archive.verification.findings import Kind
from aerolog.archive.verification.layout import SegmentRecord, SegmentState, header_of
from aerolog.cluster.files import ClusterMarkFile
from aerolog.cluster.protocol import ClusterComponentType, MarkFileHeader
from aerolog.testing.recordings import RecordingBuilder, write_time_index
from aerolog.tools.explain.explainer import explain
from aerolog.tools.main import main
from aerolog.transport.client import Aeron
from aerolog.transport.driver import MediaDriver
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.cycle_histograms import CycleHistograms
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.memory.loss_report import LossReport
from aerolog.transport.memory.mapped_file import MappedFile

if TYPE_CHECKING:
    from pathlib import Path

_CODES = {1: "<B", 2: "<H", 4: "<i", 8: "<q"}


@pytest.fixture(scope="module")
def driver_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a driver as it was while a publication sent to a subscription."""
    copy = tmp_path_factory.mktemp("driver") / "aeron"
    with memory_folder() as home, MediaDriver(home / "aeron") as driver:
        del driver
        channel = "aeron:ipc?term-length=64k"
        with (
            Aeron(home / "aeron") as aeron,
            aeron.add_subscription(channel, 7),
            aeron.add_publication(channel, 7) as publication,
        ):
            publication.wait_connected(30, writable=True)
            for size in (0, 5, 3000):
                publication.send(b"x" * size, timeout=30)
            shutil.copytree(home / "aeron", copy)
    return copy


@pytest.fixture(scope="module")
def archive_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden folder of the reference, writable."""
    return copy_archive(tmp_path_factory.mktemp("archive") / "archive")


@pytest.fixture(scope="module")
def files(
    driver_files: Path, archive_files: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    loss = tmp_path_factory.mktemp("loss") / "loss-report.dat"
    report = LossReport(MappedFile.create(str(loss), 65536))
    report.create_entry(100, 1_700_000_000_000, 11, 22, "aeron:udp?endpoint=x:1", "10.0.0.1:5")
    cycles = loss.with_name("aerolog-cycles.dat")
    made = CycleHistograms.create(RealFileSystem(), str(cycles), ["Driver Conductor", "Sender"])
    made.mapped.store_i64(made.offset_of("Sender") + 8 * 9, 77)
    node = loss.with_name("cluster")
    node.mkdir()
    with_ours(node, STEPS["standby"])
    header = MarkFileHeader(
        **dict.fromkeys((each.name for each in MarkFileHeader.LAYOUT.fixed), 7),
        **dict.fromkeys((each.name for each in MarkFileHeader.LAYOUT.var), "text"),
    )
    header.component_type = ClusterComponentType.CONSENSUS_MODULE
    header.header_length, header.error_buffer_length, header.reserved = 8192, 1 << 20, 0
    ClusterMarkFile.claim(node, header).error_log().record("gone wrong")
    write_time_index(archive_files, 5, [(1_700_000_000_000_000_000 + n, n) for n in range(300)])
    return {
        "time index": archive_files / "aerolog" / "times" / "5.time",
        "duty cycles": cycles,
        "cnc": driver_files / "cnc.dat",
        "log": next((driver_files / "publications").glob("*.logbuffer")),
        "loss report": loss,
        "catalog": archive_files / "archive.catalog",
        "mark file": archive_files / "archive-mark.dat",
        "segment": archive_files / "5-65536.rec",
        "cluster mark file": node / "cluster-mark.dat",
        "recording log": node / "recording.log",
        "node state": node / "node-state.dat",
    }


KINDS = (
    "time index",
    "duty cycles",
    "cnc",
    "log",
    "loss report",
    "catalog",
    "mark file",
    "segment",
    "cluster mark file",
    "recording log",
    "node state",
)


@pytest.mark.parametrize("kind", KINDS)
def test_each_number_stands_where_it_is_said_to(files: dict[str, Path], kind: str) -> None:
    explained = explain(str(files[kind]), 0)
    assert (explained.kind, explained.damage) == (kind, None)
    data = files[kind].read_bytes()
    assert explained.size == len(data)
    checked = 0
    for section in explained.sections:
        assert 0 <= section.offset <= section.offset + section.length <= len(data)
        for row in section.rows:
            if isinstance(row.value, int) and row.size in _CODES:
                assert struct.unpack_from(_CODES[row.size], data, row.offset)[0] == row.value
                checked += 1
    assert checked > 5 or kind in {"segment", "duty cycles"}


@pytest.mark.parametrize(
    "kind", ["time index", "cnc", "log", "catalog", "mark file", "segment", "cluster mark file"]
)
def test_a_file_with_another_name_is_told_by_its_content(
    files: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    other = tmp_path / "something.bin"
    shutil.copyfile(files[kind], other)
    assert explain(str(other), 1).kind == kind


def test_a_log_shows_frames_and_tails(files: dict[str, Path]) -> None:
    explained = explain(str(files["log"]), 0)
    term = next(one for one in explained.sections if one.title == "Term 0")
    assert [row.value for row in term.rows] == [32, 37, 1408, 1408, 280]
    assert [row.name for row in term.rows][2:] == [
        "data, first fragment",
        "data, fragment",
        "data, last fragment",
    ]
    assert "tail 3200" in term.remark.replace("tail 3232", "tail 3200")
    fields = {row.name: row for row in explained.sections[0].rows}
    assert fields["term_length"].value == 65536
    assert fields["type"].note == "publication"


def test_cnc_shows_counters_with_labels(files: dict[str, Path]) -> None:
    explained = explain(str(files["cnc"]), 0)
    counters = next(one for one in explained.sections if one.title == "Counters")
    assert any("Bytes sent" in row.note for row in counters.rows)
    few = explain(str(files["cnc"]), 2)
    shown = next(one for one in few.sections if one.title == "Counters")
    assert len(shown.rows) == 2
    assert "more counters: --limit 0 shows all" in shown.remark


def test_a_loss_report_names_the_stream(files: dict[str, Path]) -> None:
    rows = {row.name: row.value for row in explain(str(files["loss report"]), 0).sections[0].rows}
    assert rows["total_bytes_lost"] == 100
    assert (rows["channel"], rows["source"]) == ("aeron:udp?endpoint=x:1", "10.0.0.1:5")


def test_a_time_index_shows_its_entries_and_what_is_damaged(
    files: dict[str, Path], tmp_path: Path
) -> None:
    explained = explain(str(files["time index"]), 2)
    titles = [section.title for section in explained.sections]
    assert titles == ["Header", "Header", "Block 0", "Block 1"]
    first, second, *_ = explained.sections[2].rows
    assert (first.value, second.value) == (0, 1)
    assert first.note.startswith("from 2023-11-1")
    assert explained.sections[2].remark == "250 more entries: --limit 0 shows all"

    data = bytearray(files["time index"].read_bytes())
    data[4096 + 8] ^= 1
    harmed = tmp_path / "7.time"
    harmed.write_bytes(data)
    explained = explain(str(harmed), 2)
    assert explained.damage == "damaged blocks of entries: 0"
    assert explained.sections[-1].title == "Block 1"
    harmed.write_bytes(b"x" * 5000)
    assert explain(str(harmed), 2).damage == "both copies of the header are damaged"


def test_health_shows_what_was_found_of_each_segment(tmp_path: Path) -> None:
    builder = RecordingBuilder()
    builder.add(b"x" * 100)
    builder.write(tmp_path)
    with ArchiveFolder(tmp_path) as opened:
        descriptor = opened.recording(0).descriptor
    record = SegmentRecord(
        0, 65536, 65536, 1, 2, 2**64 - 1, 3, 64, 5, SegmentState.DAMAGED, Kind.CHECKSUM
    )
    path = tmp_path / "0.health"
    path.write_bytes(header_of(descriptor) + record.encode())
    explained = explain(str(path), 20)
    assert (explained.kind, explained.damage) == ("health", None)
    fields = {row.name: row for row in explained.sections[1].rows}
    assert (fields["state"].note, fields["position"].value) == ("damaged", 64)
    assert fields["fingerprint"].value == 2**64 - 1

    path.write_bytes(header_of(descriptor) + record.encode()[:-1] + b"?")
    explained = explain(str(path), 20)
    assert explained.sections[1].remark == "damaged: it is passed over"
    assert explained.damage == "1 damaged records, which are passed over"


def test_files_of_retention_are_known(tmp_path: Path) -> None:
    for name in ("holds.json", "journal.jsonl", "lock"):
        (tmp_path / name).write_text("")
        assert explain(str(tmp_path / name), 20).kind == "retention"


def test_cycles_are_counted_by_how_long_they_took(files: dict[str, Path]) -> None:
    sections = explain(str(files["duty cycles"]), 0).sections
    assert [one.title for one in sections] == ["Header", "Agent Driver Conductor", "Agent Sender"]
    assert sections[1].remark == "no cycles yet"
    assert [(row.name, row.value) for row in sections[2].rows] == [("below 1024 ns", 77)]


def test_a_recording_log_shows_what_its_entries_are(files: dict[str, Path]) -> None:
    explained = explain(str(files["recording log"]), 2)
    assert [one.title for one in explained.sections] == [
        "Entry 0: term",
        "Entry 1: standby snapshot",
        "Behind the entries",
    ]
    meanings = [{row.name: row.note for row in one.rows} for one in explained.sections[:2]]
    assert [one["type"] for one in meanings] == ["term", "standby snapshot"]
    assert meanings[0]["log_position"] == "the term is open"
    assert meanings[0]["service_id"] == ""
    assert explained.sections[1].rows[-1].value == "a-much-longer-name.of.an.archive:8010"
    assert "3 more entries" in explained.sections[2].remark


def test_a_recording_log_is_shown_up_to_the_damage(files: dict[str, Path], tmp_path: Path) -> None:
    data = bytearray(files["recording log"].read_bytes())
    data[-64 + 44] = 9
    (tmp_path / "recording.log").write_bytes(data)
    explained = explain(str(tmp_path / "recording.log"), 0)
    assert len(explained.sections) == 4
    assert explained.damage is not None
    assert "unknown entry type" in explained.damage


def test_a_segment_counts_its_frames(tmp_path: Path) -> None:
    builder = RecordingBuilder(start_position=320)
    for size in (0, 10, 5000):
        builder.add(b"x" * size)
    builder.write(tmp_path)
    explained = explain(str(tmp_path / "0-0.rec"), 2)
    rows = {row.name: row.value for row in explained.sections[0].rows}
    assert (rows["frames"], rows["messages"]) == (6, 3)
    assert (rows["recording_id"], rows["base_position"]) == ("0", "0")
    assert rows["unused"] == 65536 - builder.position
    assert explained.sections[1].offset == 320


def test_the_small_files(tmp_path: Path) -> None:
    for name, content, kind in (
        ("archive-mark.lnk", "/somewhere/else\n", "mark link"),
        ("cluster-mark-service-2.lnk", "/somewhere/else\n", "cluster mark link"),
        ("migration-131072-to-196608.dat", "", "migration stamp"),
        ("archive-2026-error.log", "\n1 observations\n", "saved errors"),
        (REDO_NAME, "half", "catalog change"),
    ):
        (tmp_path / name).write_text(content)
        explained = explain(str(tmp_path / name), 20)
        assert explained.kind == kind
        assert (explained.damage is not None) == (kind == "catalog change")


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_damage_is_told_and_never_a_fault(
    files: dict[str, Path], kind: str, tmp_path: Path, data: st.DataObject
) -> None:
    source = files[kind]
    with source.open("rb") as file:
        content = bytearray(file.read(1 << 21))
    path = tmp_path / source.name
    for _ in range(data.draw(st.integers(0, 8))):
        at = data.draw(st.integers(0, len(content) - 1) | st.integers(0, 200))
        if data.draw(st.booleans()):
            at = len(content) - 1 - at % min(len(content), 4096)
        content[at] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, len(content)) | st.just(len(content))) :]
    path.write_bytes(content)
    explained = explain(str(path), 3)
    assert explained.kind == kind
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["cnc.dat", "7.logbuffer", "archive.catalog", "archive-mark.dat"])
def test_an_empty_file_is_damaged(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    damage = explain(str(tmp_path / name), 1).damage
    assert damage is not None
    assert "0" in damage


def test_what_cannot_be_explained_says_why(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(AerologError, match="no file of a driver or an archive"):
        explain(str(tmp_path / "notes.txt"), 1)
    with pytest.raises(AerologError, match="there is no such file"):
        explain(str(tmp_path / "missing"), 1)
    with pytest.raises(AerologError, match="is a folder: name one of its files"):
        explain(str(tmp_path), 1)


def test_the_command(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(files["catalog"]), "--limit", "1"]) == 0
    out, err = capsys.readouterr()
    assert "Entry of recording 0 at 0x20" in out
    assert "14 more entries: --limit 0 shows all" in out
    assert err == ""
    assert main(["explain", str(files["catalog"]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sections"][0]["rows"][0]["note"] == "3.1.0"
    cut = tmp_path / "archive.catalog"
    cut.write_bytes(files["catalog"].read_bytes()[:900])
    assert main(["explain", str(cut)]) == 1
    assert "Damaged: " in capsys.readouterr().out
    assert main(["explain", "--classic", "--json", str(cut)]) == 2
    assert main(["explain", str(cut), "16"]) == 2
    assert main(["explain", "--classic", str(cut)]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("aerolog: ")
