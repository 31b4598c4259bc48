"""What a source replays, and what it had better not: only what continues the copy is recorded."""

from __future__ import annotations

from aerolog.archive import protocol as ap

MESSAGE = b"x" * 480  # 512 with its header
LENGTH = 4096


def begin(copying, **terms):
    """A replay that the source has agreed to, as it publishes it."""
    copying.start()
    request = copying.wait_asked(ap.ReplayRequest)
    return copying.source.replay(request, **terms)


def offer(copying, publication, count):
    for _ in range(count):
        copying.wait(lambda: publication.offer(MESSAGE) > 0, "room for a message")


def test_a_replay_is_recorded_to_its_end(rig, copying) -> None:
    replay = begin(copying)
    offer(copying, replay, 8)
    told = copying.wait_end()
    assert told == ["REPLICATE", "OK", "EXTEND", "SYNC", "REPLICATE_END", "STOP"]
    copy = rig.archive._context.catalog.descriptor(0)
    assert (copy.start_position, copy.stop_position) == (0, LENGTH)
    held = rig.disk.read_bytes("/archive/0-0.rec")[:LENGTH]
    assert held.count(MESSAGE) == 8
    assert copying.resources()[:2] == copying.before[:2]


def test_what_comes_beyond_the_end_of_the_source_is_kept_but_not_waited_for(rig, copying) -> None:
    replay = begin(copying)
    offer(copying, replay, 10)
    told = copying.wait_end()
    assert told[2:] == ["EXTEND", "SYNC", "REPLICATE_END", "STOP"]
    assert rig.archive._context.catalog.descriptor(0).stop_position >= LENGTH


def test_a_replay_that_ends_early_is_no_success(rig, copying) -> None:
    replay = begin(copying)
    offer(copying, replay, 3)
    copying.wait(lambda: "EXTEND" in copying.told(), "the recording to begin")
    replay.close()
    assert copying.wait_end() == ["REPLICATE", "OK", "EXTEND", "REPLICATE_END", "STOP"]
    assert rig.archive._context.catalog.descriptor(0).stop_position == 3 * 512


def test_a_replay_of_other_terms_is_refused(rig, copying) -> None:
    begin(copying, **{"init-term-id": 8, "term-id": 8})
    assert copying.wait_end() == [
        "REPLICATE",
        "OK",
        "9 cannot extend recording 0 image.initialTermId=8 != rec.initialTermId=7",
        "REPLICATE_END",
    ]
    copy = rig.archive._context.catalog.descriptor(0)
    assert (copy.start_position, copy.stop_position) == (0, 0)
    assert copying.resources()[:2] == copying.before[:2]


def test_a_replay_from_elsewhere_is_refused(rig, copying) -> None:
    begin(copying, **{"term-offset": 1024})
    assert copying.wait_end() == [
        "REPLICATE",
        "OK",
        "9 cannot extend recording 0 image.joinPosition=1024 != rec.stopPosition=0",
        "REPLICATE_END",
    ]


def test_the_beginning_of_a_recording_is_told_however_short_its_replay(rig, copying) -> None:
    """The image is there a turn before it is recorded: that must not be its end already."""
    copying.start(stop_position=0)
    request = copying.wait_asked(ap.ReplayRequest)
    assert request.length == 0
    copying.source.replay(request)
    assert copying.wait_end() == ["REPLICATE", "OK", "EXTEND", "REPLICATE_END", "STOP"]


def test_who_stops_the_recording_ends_the_replication(rig, copying) -> None:
    replay = begin(copying)
    offer(copying, replay, 3)
    copying.wait(lambda: "EXTEND" in copying.told(), "the recording to begin")
    assert rig.ask(ap.StopRecordingByIdentityRequest, recording_id=0) == 1
    told = copying.wait_end()
    assert "SYNC" not in told
    assert sorted(told[3:]) == ["REPLICATE_END", "STOP"]
    assert copying.resources()[:2] == copying.before[:2]


def test_a_full_disk_ends_a_copy_that_goes_on_when_there_is_room(rig, copying) -> None:
    replay = begin(copying)
    offer(copying, replay, 3)
    copying.wait(lambda: rig.archive._conductor.recordings.position(0) == 3 * 512, "three messages")
    rig.disk.fill_up()
    copying.wait(lambda: replay.offer(b"y" * 8000) > 0, "room for a message")
    told = copying.wait_end()
    assert told[:3] == ["REPLICATE", "OK", "EXTEND"]
    assert sorted(told[3:]) == [
        "11 java.io.IOException - No space left on device",
        "REPLICATE_END",
        "STOP",
    ]
    assert rig.archive._context.catalog.descriptor(0).stop_position == 3 * 512

    rig.disk.fill_up(1 << 30)
    replay.close()
    copying.source.seen.clear()
    copying.start(dst_recording_id=0)
    request = copying.wait_asked(ap.ReplayRequest)
    assert request.position == 3 * 512
    offer(copying, copying.source.replay(request), 5)
    assert copying.wait_end() == ["OK", "EXTEND", "SYNC", "REPLICATE_END", "STOP"]
    assert rig.archive._context.catalog.descriptor(0).stop_position == LENGTH
