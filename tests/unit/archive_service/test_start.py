"""Starting on folders: our own, the reference's, and those that a crash or a vandal left."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from hashlib import sha256
from typing import TYPE_CHECKING, Self

import pytest
from golden_data import copy_archive, manifest
from live_archive import until
from shared_memory import memory_path

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.retention.holds import Holds
from aerolog.archive.service import Archive, ArchivingMediaDriver
from aerolog.archive.service.properties import ArchiveConfig
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.client import Aeron
from aerolog.transport.config.sources import Properties
from aerolog.transport.errors import (
    ActiveArchiveError,
    AerologError,
    ConfigurationError,
    DriverTimeoutError,
    FileFormatError,
)
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from pathlib import Path


class Real:
    """Driver, archive and client with threads of their own, on the real disk."""

    def __init__(self, archive_dir: Path, aeron_dir: Path, **options: object) -> None:
        self.both = ArchivingMediaDriver(
            str(aeron_dir),
            str(archive_dir),
            driver_options={
                "threading_mode": "SHARED",
                "dir_delete_on_shutdown": True,
                "ipc_term_buffer_length": "64k",
                "term_buffer_sparse_file": True,
            },
            archive_options={"segment_file_length": "64k", **options},
        )
        try:
            self.aeron = Aeron(str(aeron_dir))
            self.archive = AeronArchive(self.aeron)
        except BaseException:
            self.both.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.archive.close()
        self.aeron.close()
        self.both.close()


@pytest.fixture
def aeron_dir(tmp_path: Path):
    path = memory_path("start")
    yield path
    shutil.rmtree(path, ignore_errors=True)


def test_the_references_folder_is_recovered_listed_and_replayed(
    tmp_path: Path, aeron_dir: Path
) -> None:
    folder = copy_archive(tmp_path / "archive")
    with Real(folder, aeron_dir) as real:
        listed = {d.recording_id: d for d in real.archive.recordings()}
        expected = [r for r in manifest()["recordings"] if r["state"] == "VALID"]
        assert sorted(listed) == [r["recordingId"] for r in expected]
        for recording in expected:
            stop = recording.get("afterRestart", recording["descriptor"])["stopPosition"]
            descriptor = listed[recording["recordingId"]]
            assert descriptor.stop_position == stop
            content = recording["content"]
            if content["messages"] == 0:
                continue
            digest = sha256()
            messages = 0
            for message in real.archive.read(recording["recordingId"]):
                digest.update(message.data)
                messages += 1
            assert (messages, digest.hexdigest()) == (content["messages"], content["sha256"])


def torn(folder: Path) -> tuple[int, int]:
    """A recording whose last frame straddles a page and is zeros behind it: sound end, torn end."""
    builder = RecordingBuilder()
    while builder.position < 3500:
        builder.add(b"m" * 100)
    sound = builder.position
    builder.add(b"t" * 1300)
    page = 4096
    builder.data[page : builder.position] = bytes(builder.position - page)
    builder.write(folder, stopped=False)
    return sound, builder.position


def test_a_torn_tail_ends_the_recording_before_it_logged_and_counted(
    tmp_path: Path, aeron_dir: Path
) -> None:
    sound, position = torn(tmp_path)
    before = (tmp_path / "0-0.rec").read_bytes()
    with Real(tmp_path, aeron_dir) as real:
        assert real.archive.stop_position(0) == sound < position
        assert (tmp_path / "0-0.rec").read_bytes() == before
        errors = [e.text for e in real.both.archive._mark_file.errors()]
        assert any("potentially incomplete last fragment" in text for text in errors)
        assert real.aeron.counters[15].value == 1


def test_a_padding_tail_is_accepted_without_a_word(tmp_path: Path, aeron_dir: Path) -> None:
    builder = RecordingBuilder()
    builder.add(b"m" * 100)
    position = builder.pad()
    builder.write(tmp_path, stopped=False)
    with Real(tmp_path, aeron_dir) as real:
        assert real.archive.stop_position(0) == position
        assert real.aeron.counters[15].value == 0


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("archive.catalog", "garbage"),
        ("archive.catalog", "truncated"),
        ("archive.catalog", "other-version"),
        ("archive-mark.dat", "garbage"),
        # A mark file that is too short is made longer: it holds nothing that is worth a refusal.
        ("archive-mark.dat", "other-version"),
    ],
)
def test_damaged_files_refuse_the_start_with_a_typed_error(
    tmp_path: Path, aeron_dir: Path, name: str, damage: str
) -> None:
    RecordingBuilder().write(tmp_path)
    with Real(tmp_path, aeron_dir):
        pass
    path = tmp_path / name
    data = path.read_bytes()
    if damage == "garbage":
        path.write_bytes(bytes((i * 37 + 11) & 0xFF for i in range(4096)))
    elif damage == "truncated":
        path.write_bytes(data[:20])
    else:
        at = 0 if name == "archive.catalog" else 8
        path.write_bytes(data[:at] + b"\0\0\2\0" + data[at + 4 :])
    with pytest.raises(AerologError) as refused, Real(tmp_path, aeron_dir):
        pass
    assert isinstance(refused.value, FileFormatError)
    assert name in str(refused.value)
    path.write_bytes(data)
    with Real(tmp_path, aeron_dir) as real:
        assert real.archive.list_recording(0) is not None


@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED"])
def test_recording_and_replaying_with_threads(tmp_path: Path, aeron_dir: Path, mode: str) -> None:
    with Real(tmp_path, aeron_dir, threading_mode=mode) as real:
        publication = real.archive.add_recorded_exclusive_publication("aeron:ipc", 5)
        for index in range(500):
            publication.send(index.to_bytes(4, "little") * 100, timeout=30)
        recording_id = real.archive.find_last_matching_recording(
            0, "aeron:ipc", 5, publication.session_id
        )
        assert recording_id is not None
        counter = real.archive.recording_position_counter(recording_id)
        assert counter is not None
        counter.wait(publication.position, timeout=30)
        end = publication.position
        real.archive.stop_recording_of(publication)
        messages = [m.data for m in real.archive.read(recording_id)]
        assert messages == [index.to_bytes(4, "little") * 100 for index in range(500)]
        deadline = real.both.archive._clock.now_ns() + 60_000_000_000
        while real.archive.stop_position(recording_id) is None:
            assert real.both.archive._clock.now_ns() < deadline
        assert real.archive.stop_position(recording_id) == end


def test_no_driver_is_told(tmp_path: Path) -> None:
    properties = Properties.from_environment({})
    properties.define("aeron.driver.timeout=50")
    with pytest.raises(DriverTimeoutError):
        Archive(tmp_path / "archive", tmp_path / "nothing", properties=properties)


WRONG = [
    ({"file_io_max_length": "100k"}, "invalid fileIoMaxLength=102400"),
    ({"segment_file_length": "100k"}, "segment file length not a power of 2: 102400"),
    ({"segment_file_length": "32k"}, "segment file length not in valid range: 32768"),
    ({"file_sync_level": 1, "catalog_file_sync_level": 0}, "catalogFileSyncLevel 0 < "),
    ({"control_channel": "aeron:ipc"}, "controlChannel must be UDP media: uri=aeron:ipc"),
    ({"control_channel_enabled": True}, "controlChannel must be set"),
    ({"local_control_channel": "aeron:udp"}, "local control channel must be IPC media"),
    ({"recording_events_enabled": True}, "recordingEventsChannel must be set"),
    ({"record_checksum": "MD5"}, "failed to create Checksum instance for class: MD5"),
    ({"threading_mode": "shared"}, "is not built in"),
    ({"authenticator_supplier": "com.example.Mine"}, "is not built in"),
]


@pytest.mark.parametrize(("options", "text"), WRONG, ids=lambda value: str(value)[:40])
def test_settings_that_cannot_be_are_refused(options: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text.replace("(", r"\(")):
        ArchiveConfig(Properties.from_environment({}), options)


def test_a_network_control_channel_is_refused_as_the_driver_refuses_it(
    tmp_path: Path, aeron_dir: Path
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        channel = f"aeron:udp?endpoint=127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AerologError, match="Address already in use"):
            Real(tmp_path, aeron_dir, control_channel=channel).__enter__()


def test_a_client_connects_to_the_port_that_the_system_chose(
    tmp_path: Path, aeron_dir: Path
) -> None:
    channel = "aeron:udp?endpoint=127.0.0.1:0"
    with Real(tmp_path, aeron_dir, control_channel=channel) as real:
        archive = real.both.archive
        control = archive.control_channel
        assert control is not None
        assert ChannelUri.parse(control)["endpoint"] not in channel
        with AeronArchive(
            aeron_dir=str(aeron_dir),
            request_channel=control,
            response_channel=channel,
        ) as client:
            assert client.archive_id == archive.archive_id
    assert archive.control_channel == control


def test_without_a_control_channel_there_is_none(tmp_path: Path, aeron_dir: Path) -> None:
    with Real(tmp_path, aeron_dir) as real:
        assert real.both.archive.control_channel is None


def test_the_checked_properties_have_the_references_names() -> None:
    config = ArchiveConfig(
        Properties.from_command_line(
            ["-Daeron.archive.dir=/x", "-Daeron.archive.segment.file.length=1m"],
            {"AERON_ARCHIVE_FILE_IO_MAX_LENGTH": "128k"},
        )
    )
    from aerolog.archive.service import properties as p

    assert config.archive_dir == "/x"
    assert config[p.SEGMENT_LENGTH] == 1 << 20
    assert config[p.FILE_IO_LENGTH] == 1 << 17


def test_a_mark_file_elsewhere_is_linked_to_and_the_link_goes_again(
    tmp_path: Path, aeron_dir: Path
) -> None:
    folder, elsewhere = tmp_path / "archive", tmp_path / "marks"
    with Real(folder, aeron_dir, mark_file_dir=str(elsewhere)) as real:
        assert (folder / "archive-mark.lnk").read_text() == str(elsewhere)
        assert (elsewhere / "archive-mark.dat").exists()
        assert not (folder / "archive-mark.dat").exists()
        assert real.archive.archive_id == real.both.archive.archive_id
    with Real(folder, aeron_dir):
        assert not (folder / "archive-mark.lnk").exists()
        assert (folder / "archive-mark.dat").exists()


def test_the_folder_is_deleted_at_start_when_asked_for(tmp_path: Path, aeron_dir: Path) -> None:
    RecordingBuilder().write(tmp_path)
    with Real(tmp_path, aeron_dir, dir_delete_on_start=True) as real:
        assert list(real.archive.recordings()) == []
        assert sorted(p.name for p in tmp_path.iterdir()) == [
            "aerolog",
            "archive-mark.dat",
            "archive.catalog",
        ]


def test_the_folder_is_not_deleted_at_start_while_a_recording_is_held(
    tmp_path: Path, aeron_dir: Path
) -> None:
    RecordingBuilder().write(tmp_path)
    Holds.open(tmp_path).add(0, "incident 4711")
    with pytest.raises(ConfigurationError, match="delete recording 0 .*, which is held: incident"):
        Real(tmp_path, aeron_dir, dir_delete_on_start=True)
    Holds.open(tmp_path).remove(0)
    with Real(tmp_path, aeron_dir, dir_delete_on_start=True) as real:
        assert list(real.archive.recordings()) == []


@pytest.mark.parametrize("option", [{}, {"dir_delete_on_start": True}])
def test_a_second_start_touches_nothing(
    tmp_path: Path, aeron_dir: Path, option: dict[str, object]
) -> None:
    """Neither the folder that another archive has, nor the driver's directory beside it."""
    RecordingBuilder().write(tmp_path)
    other = aeron_dir.with_name(f"{aeron_dir.name}-other")
    with Real(tmp_path, aeron_dir) as real:
        with pytest.raises(ActiveArchiveError, match="active mark file detected"):
            Real(tmp_path, other, **option)
        assert not other.exists()
        assert len(list(real.archive.recordings())) == 1


DEFECTS = (ValueError, AssertionError, MemoryError, OSError, SystemExit, KeyboardInterrupt)


@pytest.mark.parametrize("kind", DEFECTS)
@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED"])
def test_an_exception_in_the_conductor_ends_the_archive(
    tmp_path: Path, aeron_dir: Path, mode: str, kind: type[BaseException], monkeypatch, capfd
) -> None:
    def defect(*_: object) -> None:
        raise kind("broken")

    with Real(tmp_path, aeron_dir, threading_mode=mode) as real:
        archive = real.both.archive
        monkeypatch.setattr(archive._conductor, "_plan", defect)
        archive.wake()
        until(lambda: all(runner.is_closed for runner in archive.runners[:3]), "end of all agents")
        assert (type(archive.failure), real.both.is_closed) == (kind, True)
        with contextlib.closing(ArchiveMarkFile.open(tmp_path)) as mark:
            assert [kind.__name__ in error.text for error in mark.errors()] == [True]
        assert ("Traceback" in capfd.readouterr().err) is (kind is not OSError)


def test_the_mark_file_says_who_runs_and_that_it_ended(tmp_path: Path, aeron_dir: Path) -> None:
    with Real(tmp_path, aeron_dir, archive_id=42):
        mark = ArchiveMarkFile.open(tmp_path)
        header = mark.header
        assert (header.archive_id, header.pid) == (42, os.getpid())
        assert header.local_control_channel == "aeron:ipc?term-length=64k"
        assert (header.control_channel, header.events_channel) == ("", "")
        assert header.aeron_directory == str(aeron_dir)
        assert mark.is_active()
    assert mark.activity_timestamp == -1


def test_errors_of_an_earlier_run_are_saved_beside_the_mark_file(
    tmp_path: Path, aeron_dir: Path, capsys
) -> None:
    torn(tmp_path)
    with Real(tmp_path, aeron_dir):
        pass
    with Real(tmp_path, aeron_dir):
        pass
    (saved,) = tmp_path.glob("archive-*-error.log")
    assert "potentially incomplete last fragment" in saved.read_text()
    assert f"WARNING: existing errors saved to: {saved}" in capsys.readouterr().err


def put(folder: Path, recording_id: int, field: int, value: int, size: int = 8) -> None:
    """Change a field of an entry; entries take 192 bytes here."""
    catalog = folder / "archive.catalog"
    content = bytearray(catalog.read_bytes())
    at = 32 + recording_id * entry_length(content) + 32 + field
    content[at : at + size] = value.to_bytes(size, "little", signed=True)
    catalog.write_bytes(content)


def entry_length(content: bytearray) -> int:
    return 32 + int.from_bytes(content[32:36], "little")


START, STOP, SEGMENT, TERM, MTU = 40, 48, 60, 64, 68
DOUBTFUL = {
    "start no multiple of 32": [(START, 33, 8)],
    "start and end no multiples of 32": [(START, 33, 8), (STOP, 4097, 8)],
    "start no multiple of 32, without an end": [(START, 33, 8), (STOP, -1, 8)],
    "end before the start": [(START, 4096, 8), (STOP, 64, 8)],
    "negative start": [(START, -64, 8)],
    "negative start, without an end": [(START, -64, 8), (STOP, -1, 8)],
    "start beyond everything, without an end": [(START, 2**62, 8), (STOP, -1, 8)],
    "no term": [(TERM, 0, 4), (STOP, -1, 8)],
    "odd term": [(TERM, 1000, 4), (STOP, -1, 8)],
    "segment shorter than a term": [(SEGMENT, 1024, 4), (STOP, -1, 8)],
    "negative segment": [(SEGMENT, -1, 4), (STOP, -1, 8)],
    "no mtu": [(MTU, 0, 4)],
}


@pytest.mark.parametrize("name", list(DOUBTFUL))
@pytest.mark.parametrize("segments", [True, False], ids=["segments", "no segments"])
def test_no_doubtful_entry_keeps_an_archive_from_starting(
    tmp_path: Path, aeron_dir: Path, name: str, segments: bool
) -> None:
    for _ in range(3):
        builder = RecordingBuilder()
        for number in range(100):
            builder.add(b"%d" % number * 100)
        builder.write(tmp_path)
    for field, value, size in DOUBTFUL[name]:
        put(tmp_path, 1, field, value, size)
    kept = {path.name: path.read_bytes() for path in tmp_path.glob("1-*")}
    if not segments:
        for path in tmp_path.glob("1-*"):
            path.unlink()
        kept = {}
    with Real(tmp_path, aeron_dir) as real:
        assert [one.recording_id for one in real.archive.recordings()] == [0, 1, 2]
        for sound in (0, 2):
            assert sum(1 for _ in real.archive.read(sound)) == 100
        for request in (
            lambda: real.archive.truncate_recording(1, 64),
            lambda: list(real.archive.read(1)),
        ):
            with contextlib.suppress(AerologError):
                request()
        assert sum(1 for _ in real.archive.read(2)) == 100
    assert {path.name: path.read_bytes() for path in tmp_path.glob("1-*")} == kept
