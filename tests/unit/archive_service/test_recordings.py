"""What becomes of recordings when limits, files and disks are in the way."""

from __future__ import annotations

import errno
import struct

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.format.catalog_file import CatalogReader
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.service import Archive
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.errors import ActiveArchiveError, ConfigurationError, RegistrationError

CHANNEL = "aeron:ipc?term-length=64k"
LOCAL = ap.SourceLocation.LOCAL
ERRORS = SystemCounter.ERRORS  # the driver's counter, which the archive shares


def stop_position(rig, recording_id: int) -> int:
    return rig.ask(ap.StopPositionRequest, recording_id=recording_id)


def stopped(rig, recording_id: int) -> int:
    """Stop position of a recording, once it has stopped."""
    rig.wait(lambda: recording_id not in rig.archive._conductor.recordings.sessions, "the stop")
    return stop_position(rig, recording_id)


def test_starting_is_refused_when_enough_are_active(make_rig) -> None:
    rig = make_rig(max_concurrent_recordings=1)
    rig.connect()
    rig.start(1)
    rig.publish(1)
    assert rig.refused(
        ap.StartRecordingRequest, stream_id=2, source_location=LOCAL, channel=CHANNEL
    ) == (8, "max concurrent recordings reached 1")
    assert rig.refused(
        ap.ExtendRecordingRequest,
        recording_id=0,
        stream_id=1,
        source_location=LOCAL,
        channel=CHANNEL,
    ) == (8, "max concurrent recordings reached at 1")


def test_a_recording_that_waits_for_its_publication_counts(make_rig) -> None:
    rig = make_rig(max_concurrent_recordings=2)
    rig.connect()
    rig.start(1)
    rig.start(2)
    third = {"stream_id": 3, "source_location": LOCAL, "channel": CHANNEL}
    assert rig.refused(ap.StartRecordingRequest, **third)[0] == 8
    rig.ask(ap.StopRecordingRequest, stream_id=2, channel=CHANNEL)
    rig.start(3)


def test_a_recording_that_has_ended_does_not_count(make_rig) -> None:
    """Its subscription waits for other publications, perhaps for ever."""
    rig = make_rig(max_concurrent_recordings=1)
    rig.connect()
    rig.start(1)
    rig.publish(1).close()
    stopped(rig, 0)
    assert rig.start(2) > 0


def test_a_stop_is_answered_when_its_effect_is_visible(rig) -> None:
    for recording_id in range(100):
        stream_id = 100 + recording_id
        rig.start(stream_id)
        publication = rig.aeron.add_exclusive_publication(CHANNEL, stream_id)
        for _ in range(20):
            rig.wait(lambda p=publication: p.offer(b"message") > 0, "room for a message")
        end = publication.position
        publication.close()
        rig.ask(ap.StopRecordingRequest, stream_id=stream_id, channel=CHANNEL)
        assert rig.archive._context.catalog.descriptor(recording_id).stop_position == end
        assert [
            c
            for c in rig.aeron.counters.infos()
            if c.type_id == ArchiveCounterType.RECORDING_POSITION
        ] == []
        assert rig.archive._conductor.recordings.by_key == {}


def test_a_stop_is_answered_before_its_signals_and_newest_first(rig) -> None:
    rig.start(1)
    publications = [rig.publish(1) for _ in range(3)]
    stop = rig.post(ap.StopRecordingRequest, stream_id=1, channel=CHANNEL)
    rig.wait(lambda: len(rig.signals()) == 6, "all signals")
    assert [recording_id for name, recording_id, _ in rig.signals()[3:]] == [2, 1, 0]
    kinds = [type(m) for m in rig.poll()]
    (answer,) = rig.answers(stop)
    assert rig.poll().index(answer) == len(kinds) - 4
    for publication in publications:
        publication.close()


def test_starting_is_refused_when_space_is_low(make_rig) -> None:
    rig = make_rig(low_storage_space_threshold=1 << 30)
    rig.connect()
    rig.disk.fill_up(1 << 30)
    assert rig.refused(
        ap.StartRecordingRequest, stream_id=2, source_location=LOCAL, channel=CHANNEL
    ) == (11, f"low storage threshold={1 << 30} <= usableSpace={1 << 30}")


def test_a_channel_is_refused_with_the_drivers_words(rig) -> None:
    code, text = rig.refused(
        ap.StartRecordingRequest,
        stream_id=2,
        source_location=LOCAL,
        channel="aeron:udp?endpoint=localhost",
    )
    assert code == 0
    assert text.startswith("ERROR - ")
    assert "address:port is required for ipv4: localhost, errorCodeValue=" in text


def test_a_disk_that_fills_ends_the_recording_and_keeps_what_it_has(rig) -> None:
    rig.start(1)
    publication = rig.publish(1, b"x" * 1000)
    recorded = publication.position
    rig.disk.fill_up()
    before = rig.aeron.counters[ERRORS].value
    rig.wait(lambda: publication.offer(b"y" * 8000) > 0, "room for a message")
    rig.turn(20)
    assert stopped(rig, 0) == recorded
    (error,) = [m for m in rig.poll() if getattr(m, "code", 0) == ap.ControlResponseCode.ERROR]
    assert (error.relevant_id, error.error_message) == (
        11,
        "java.io.IOException - No space left on device",
    )
    assert rig.signals() == [("START", 0, 0), ("STOP", 0, recorded)]
    assert rig.aeron.counters[ERRORS].value == before + 1
    assert any("No space left" in text for text in rig.errors())


def test_a_segment_that_is_there_already_ends_the_recording(rig) -> None:
    rig.start(1)
    rig.disk.write_bytes("/archive/0-65536.rec", b"somebody's")
    publication = rig.publish(1)
    for _ in range(70):
        rig.wait(lambda: publication.offer(b"z" * 1000) > 0, "room for a message")
    stop = stopped(rig, 0)
    assert stop < 65536
    (error,) = [m for m in rig.poll() if getattr(m, "code", 0) == ap.ControlResponseCode.ERROR]
    assert error.relevant_id == 0
    assert error.error_message.endswith("segment file already exists: /archive/0-65536.rec")
    assert rig.disk.read_bytes("/archive/0-65536.rec") == b"somebody's"


def test_closing_the_archive_gives_active_recordings_their_stop(make_rig) -> None:
    rig = make_rig()
    rig.connect()
    rig.start(1)
    publication = rig.publish(1, b"one", b"two")
    position = publication.position
    rig.archive.close()
    with CatalogReader.open("/archive", rig.disk) as catalog:
        descriptor = catalog.descriptor(0)
    assert descriptor.stop_position == position
    assert descriptor.stop_timestamp >= descriptor.start_timestamp
    rig.aeron.do_work()
    assert rig.signals()[-1] == ("STOP", 0, position)


def test_checksums_stand_in_for_session_ids(make_rig) -> None:
    from aerolog.archive.format.checksum import checksum_for

    rig = make_rig(record_checksum="CRC-32C")
    rig.connect()
    rig.start(1)
    rig.publish(1, b"some bytes")
    data = rig.disk.read_bytes("/archive/0-0.rec")
    (stored,) = struct.unpack_from("<i", data, 12)
    checksum = checksum_for("CRC-32C")
    assert checksum is not None
    assert stored == checksum.compute(data[32:64])
    assert data[32:42] == b"some bytes"


@pytest.mark.parametrize(("level", "synced"), [(0, False), (1, True), (2, True)])
def test_blocks_are_synced_as_configured(make_rig, level: int, synced: bool) -> None:
    rig = make_rig(file_sync_level=level)
    rig.connect()
    rig.start(1)
    publication = rig.publish(1, b"first")
    # A block that cannot be synced ends the recording, so a failing sync shows whether one is done.
    rig.disk.fail_sync(1, errno.EIO)
    rig.wait(lambda: publication.offer(b"second") > 0, "room for a message")
    rig.turn(20)
    assert (0 not in rig.archive._conductor.recordings.sessions) is synced


def test_a_second_archive_on_the_folder_is_refused(rig) -> None:
    with pytest.raises(ActiveArchiveError, match="active mark file detected"):
        Archive("/archive", "/aeron", clock=rig.clock, file_system=rig.disk)


def test_a_second_archive_of_the_same_id_is_refused(tmp_path, make_rig) -> None:
    rig = make_rig(threading_mode="INVOKER")
    options = {
        "archive_id": 9,
        "threading_mode": "INVOKER",
        "clock": rig.clock,
        "file_system": rig.disk,
        "driver_invoker": rig.both.driver.do_work,
    }
    with (
        Archive("/first", "/aeron", **options),
        pytest.raises(ConfigurationError, match="found existing archive for archiveId=9"),
    ):
        Archive("/second", "/aeron", **options)


def test_an_archive_that_has_ended_leaves_its_id_at_once(make_rig) -> None:
    rig = make_rig(threading_mode="INVOKER")
    options = {
        "archive_id": 9,
        "threading_mode": "INVOKER",
        "clock": rig.clock,
        "file_system": rig.disk,
        "driver_invoker": rig.both.driver.do_work,
    }
    before = rig.clock.now_epoch_ms()
    with Archive("/first", "/aeron", **options):
        pass
    rig.both.driver.do_work()
    with Archive("/second", "/aeron", **options) as archive:
        assert archive.archive_id == 9
    assert rig.clock.now_epoch_ms() == before, "the driver's timer had no time to free counters"


def test_a_recording_that_gets_no_counter_is_told_and_left_empty(rig, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise RegistrationError(1, 11, "CountersFull")

    monkeypatch.setattr(rig.archive._context.counters, "recording_position", full)
    rig.start(1)
    publication = rig.aeron.add_exclusive_publication(CHANNEL, 1)
    error = rig.wait(
        lambda: [m for m in rig.poll() if getattr(m, "code", 0) == ap.ControlResponseCode.ERROR],
        "the error",
    )[0]
    assert error.relevant_id == 0
    assert "CountersFull" in error.error_message
    assert stop_position(rig, 0) == rig.ask(ap.StartPositionRequest, recording_id=0)
    monkeypatch.undo()
    # The subscription is there for the next image.
    rig.publish(1, b"recorded")
    assert 1 in rig.archive._conductor.recordings.sessions
    publication.close()


def test_an_events_stream_that_has_ended_stops_no_recording_from_ending(make_rig) -> None:
    rig = make_rig(recording_events_enabled=True, recording_events_channel="aeron:ipc")
    rig.connect()
    rig.start(1)
    publication = rig.publish(1, b"one")
    rig.archive._recorder.events.close()
    position = publication.position
    publication.close()
    assert stopped(rig, 0) == position
    assert any("recording events stream has ended" in text for text in rig.errors())


def test_an_unknown_parameter_of_a_channel_is_accepted_without_a_word(rig, capsys) -> None:
    for stream_id in (1, 2):
        rig.start(stream_id, CHANNEL + "|linggger=1s")

    assert capsys.readouterr().err == ""
    assert rig.errors() == []


def test_a_strict_archive_refuses_unknown_parameters(make_rig) -> None:
    rig = make_rig(strict=True)
    rig.connect()

    _, message = rig.refused(
        ap.StartRecordingRequest, stream_id=1, source_location=LOCAL, channel=CHANNEL + "|mtuuu=9"
    )

    assert "unknown channel parameter mtuuu; did you mean mtu?" in message
