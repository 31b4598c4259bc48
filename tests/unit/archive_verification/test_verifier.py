"""An archive that verifies what it has recorded, while it runs."""

from __future__ import annotations

import errno
import os
import struct
from typing import TYPE_CHECKING

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.verification import Health
from aerolog.archive.verification.layout import HEADER_LENGTH, RECORD_LENGTH, health_path

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME = 1056
PER_SEGMENT = 62
OPTIONS = {"verify_rate": "1g", "verify_interval": "3600s", "verify_look_interval": "20ms"}
FOLDER = "/archive"


def path(base: int = 0) -> str:
    return f"{FOLDER}/0-{base}.rec"


@pytest.fixture
def verifying(make_rig: Callable) -> Callable:
    """Makes archives that verify."""

    def make(**more: object):
        rig = make_rig(**{**OPTIONS, **more})
        rig.connect()
        return rig

    return make


def record(rig, count: int = 2 * PER_SEGMENT + 10, *, stopped: bool = True):
    """A recording of a thousand bytes a message, three segments by default."""
    rig.start(1)
    publication = rig.publish(1, *(bytes([i % 251]) * 1000 for i in range(count)))
    if stopped:
        publication.close()
        rig.wait(lambda: not rig.archive._conductor.recordings.sessions, "the recording's end")
    return publication


def health(rig) -> Health:
    with ArchiveFolder(FOLDER, rig.disk) as folder:
        return Health.open(folder, 0)


def wait_for(rig, state: str) -> Health:
    rig.wait(lambda: health(rig).state == state, f"health {state}")
    return health(rig)


def damage(rig, at: int, form: str, value: int, base: int = 0) -> None:
    with rig.disk.open_data_file(path(base), writable=True) as file:
        file.write_at(struct.pack(form, value), at)


def test_nothing_is_verified_unless_it_is_wanted(make_rig) -> None:
    rig = make_rig()
    rig.connect()
    record(rig)
    rig.pass_time(200)
    assert health(rig).state == "unchecked"
    assert not rig.disk.exists(health_path(FOLDER, 0))
    assert ArchiveCounterType.VERIFIED_BYTES not in {c.type_id for c in rig.aeron.counters.infos()}


def test_closed_segments_are_verified_and_counted(verifying) -> None:
    rig = verifying()
    record(rig)
    found = wait_for(rig, "sound")
    assert [segment.base for segment in found.segments] == [0, 65536, 131072]
    assert all(len(segment.xxh3 or "") == 16 for segment in found.segments)
    assert rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS) >= 3
    assert rig.counter(ArchiveCounterType.VERIFIED_BYTES) >= 2 * 65536 + 10 * FRAME
    assert rig.counter(ArchiveCounterType.BAD_SEGMENTS) == 0
    assert rig.errors() == []


def test_the_segment_that_is_written_is_left_alone_until_it_is_full(verifying) -> None:
    rig = verifying()
    publication = record(rig, PER_SEGMENT + 5, stopped=False)
    rig.wait(lambda: rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS) == 1, "the closed segment")
    rig.pass_time(100)
    assert rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS) == 1
    for _ in range(PER_SEGMENT):
        rig.wait(lambda: publication.offer(bytes(1000)) > 0, "room")
    rig.wait(lambda: rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS) == 2, "the next one")
    assert rig.errors() == []


def test_damage_is_told_once_with_recording_and_position(verifying) -> None:
    rig = verifying()
    record(rig)
    wait_for(rig, "sound")
    damage(rig, 3 * FRAME + 8, "<i", 77, base=65536)
    found = wait_for(rig, "damaged")
    (bad,) = found.bad_segments
    assert (bad.base, bad.kind, bad.position) == (65536, "header", 65536 + 3 * FRAME)
    rig.wait(lambda: rig.counter(ArchiveCounterType.BAD_SEGMENTS) == 1, "the counter")
    damage(rig, 3 * FRAME + 8, "<i", 77, base=65536)  # read again, the same is found
    before = rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS)
    rig.wait(
        lambda: rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS) > before, "another verification"
    )
    (text,) = rig.errors()
    assert f"recording 0 at position {65536 + 3 * FRAME}: wrong term offset 77" in text
    assert "aerolog verify 0 --repair-plan" in text


def test_what_was_damaged_and_is_sound_again_counts_so(verifying) -> None:
    rig = verifying()
    record(rig)
    wait_for(rig, "sound")
    damage(rig, 6, "<H", 5)
    wait_for(rig, "damaged")
    damage(rig, 6, "<H", 1)
    wait_for(rig, "sound")
    rig.wait(lambda: rig.counter(ArchiveCounterType.BAD_SEGMENTS) == 0, "the counter")


def test_a_deleted_segment_is_noticed(verifying) -> None:
    rig = verifying()
    record(rig)
    wait_for(rig, "sound")
    rig.disk.remove(path(65536))
    found = wait_for(rig, "missing")
    assert [segment.base for segment in found.bad_segments] == [65536]
    assert "recording 0 at position 65536: the segment file is not there" in rig.errors()[0]


def test_a_segment_that_cannot_be_read_is_no_bad_one_and_is_tried_again(
    verifying, monkeypatch
) -> None:
    rig = verifying(verify_interval="60ms")
    record(rig)
    before = wait_for(rig, "sound")
    opened = rig.disk.open_data_file

    def open_data_file(name: str, **options: bool):
        if name == path(65536):
            raise OSError(errno.EIO, os.strerror(errno.EIO), name)
        return opened(name, **options)

    with monkeypatch.context() as patched:
        patched.setattr(rig.disk, "open_data_file", open_data_file)
        found = wait_for(rig, "unreadable")
    assert found.bad_segments == []
    assert [one.xxh3 for one in found.segments] == [one.xxh3 for one in before.segments]
    (text,) = rig.errors()
    assert ": WARN - recording 0 " in text
    assert "the segment cannot be read: Input/output error" in text
    assert rig.counter(ArchiveCounterType.BAD_SEGMENTS) == 0
    wait_for(rig, "sound")


def test_changed_content_is_noticed_though_every_frame_is_sound(verifying) -> None:
    rig = verifying()
    record(rig)
    wait_for(rig, "sound")
    damage(rig, 2 * FRAME + 500, "<B", 200)
    found = wait_for(rig, "changed")
    assert [segment.base for segment in found.bad_segments] == [0]
    assert "the segment is not what it was" in rig.errors()[0]


def test_content_that_changes_behind_the_file_systems_back_is_found_in_time(verifying) -> None:
    rig = verifying(verify_interval="60ms")
    record(rig)
    wait_for(rig, "sound")
    os.pwrite(rig.disk._find(path()).fd, b"\xc8", 2 * FRAME + 500)  # the stamp stays
    wait_for(rig, "changed")


def test_a_file_in_the_place_of_another_is_sound_when_it_holds_the_same(verifying) -> None:
    rig = verifying()
    record(rig)
    wait_for(rig, "sound")
    before, number = rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS), rig.disk.stamp(path()).inode
    rig.disk.write_bytes(path(), rig.disk.read_bytes(path()))
    assert rig.disk.stamp(path()).inode != number
    rig.wait(
        lambda: rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS) > before, "another verification"
    )
    assert health(rig).state == "sound"
    assert rig.errors() == []


def test_a_file_of_another_size_is_noticed(verifying) -> None:
    rig = verifying()
    record(rig)
    wait_for(rig, "sound")
    with rig.disk.open_data_file(path(), writable=True) as file:
        file.set_length(30_000)
    (bad,) = wait_for(rig, "damaged").bad_segments
    assert (bad.kind, bad.position) == ("tail", 30_000 // FRAME * FRAME)


def test_purged_and_truncated_segments_are_no_damage(verifying) -> None:
    rig = verifying(verify_rate="4m", verify_interval="1ms")
    record(rig, 6 * PER_SEGMENT)
    rig.wait(lambda: rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS) > 2, "some segments")
    rig.ask(ap.PurgeSegmentsRequest, recording_id=0, new_start_position=2 * 65536)
    rig.wait(lambda: "DELETE" in {name for name, *_ in rig.signals()}, "the files to go")
    rig.ask(ap.TruncateRecordingRequest, recording_id=0, position=4 * 65536 + 5 * FRAME)
    before = rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS)
    rig.wait(
        lambda: rig.counter(ArchiveCounterType.VERIFIED_SEGMENTS) > before + 6, "a round behind it"
    )
    found = health(rig)
    assert [(s.base, s.state) for s in found.segments] == [
        (base, "sound") for base in (131072, 196608, 262144)
    ]
    rig.ask(ap.PurgeRecordingRequest, recording_id=0)
    rig.wait(lambda: not rig.disk.exists(health_path(FOLDER, 0)), "the health file to go")
    assert rig.errors() == []
    assert rig.counter(ArchiveCounterType.BAD_SEGMENTS) == 0


def test_what_is_recorded_behind_a_truncation_is_no_change(verifying) -> None:
    rig = verifying()
    record(rig)
    wait_for(rig, "sound")
    rig.ask(ap.StopRecordingRequest, stream_id=1, channel="aeron:ipc?term-length=64k")
    rig.ask(ap.TruncateRecordingRequest, recording_id=0, position=5 * FRAME)
    rig.wait(lambda: "DELETE" in {name for name, *_ in rig.signals()}, "the files to go")
    publication = rig.aeron.add_exclusive_publication(
        "aeron:ipc?term-length=64k|init-term-id={0}|term-id={0}|term-offset={1}".format(
            rig.archive._conductor._context.catalog.descriptor(0).initial_term_id, 5 * FRAME
        ),
        1,
    )
    rig.ask(
        ap.ExtendRecordingRequest,
        recording_id=0,
        stream_id=1,
        source_location=ap.SourceLocation.LOCAL,
        channel="aeron:ipc?term-length=64k",
    )
    rig.wait(lambda: rig.archive._conductor.recordings.sessions, "the extension")
    for _ in range(2 * PER_SEGMENT):
        rig.wait(lambda: publication.offer(b"\x01" * 1000) > 0, "room")
    rig.wait(
        lambda: rig.archive._conductor.recordings.position(0) == publication.position, "all of it"
    )
    publication.close()
    rig.wait(lambda: not rig.archive._conductor.recordings.sessions, "the recording's end")
    wait_for(rig, "sound")
    assert rig.errors() == []


@pytest.mark.parametrize(
    ("at", "flipped", "text"),
    [
        (0, 0xFF, "it is no health file"),
        (16, 0x07, "its header is damaged"),
        (HEADER_LENGTH + 3, 0xFF, "1 damaged record(s)"),
        (HEADER_LENGTH + RECORD_LENGTH - 1, 0xFF, "1 damaged record(s)"),
    ],
)
def test_a_damaged_health_file_is_told_and_made_anew(verifying, at, flipped, text) -> None:
    rig = verifying()
    record(rig)
    wait_for(rig, "sound")
    disk = rig.disk
    rig.both.close()
    path = health_path(FOLDER, 0)
    # A byte of a checksum may be any: it is changed, not set.
    changed = bytes([disk.read_bytes(path)[at] ^ flipped])
    with disk.open_data_file(path, writable=True) as file:
        file.write_at(changed, at)
    with ArchiveFolder(FOLDER, disk) as folder:
        found = Health.open(folder, 0)
    assert found.state == "unchecked"
    assert text in found.problems[0]
    again = verifying(disk=disk)
    wait_for(again, "sound")
    assert health(again).problems == []
    assert any(text in error for error in again.errors())


def test_known_damage_is_told_again_by_the_next_archive(verifying) -> None:
    rig = verifying()
    record(rig)
    damage(rig, 4 * FRAME, "<i", 31)
    wait_for(rig, "damaged")
    rig.both.close()
    again = verifying(disk=rig.disk)
    again.wait(lambda: again.counter(ArchiveCounterType.BAD_SEGMENTS) == 1, "the counter")
    assert any(f"at position {4 * FRAME}" in error for error in again.errors())


def test_the_rate_bounds_what_is_read(verifying) -> None:
    rig = verifying(verify_rate="1m", verify_interval="1ms")
    record(rig)
    begin, piece = rig.counter(ArchiveCounterType.VERIFIED_BYTES), 128 * 1024
    rig.pass_time(1000)
    read = rig.counter(ArchiveCounterType.VERIFIED_BYTES) - begin
    assert read <= 1024 * 1024 + 2 * piece
    assert read > 0


def test_a_full_disk_stops_no_verification(verifying) -> None:
    rig = verifying(low_storage_space_threshold=0)
    record(rig)
    rig.disk.fill_up()
    damage(rig, 6, "<H", 5)
    rig.wait(lambda: rig.counter(ArchiveCounterType.BAD_SEGMENTS) == 1, "the damage")
    rig.disk.fill_up(1 << 20)
    wait_for(rig, "damaged")
