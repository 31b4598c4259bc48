"""What replications take of the archive that copies, and what they leave."""

from __future__ import annotations

import pytest

from aerolog.archive import protocol as ap


def test_connecting_never_waits_for_the_driver(rig, source, copying, monkeypatch) -> None:
    conductor = rig.archive._context.aeron.conductor
    waits: list[object] = []
    await_answer = conductor.await_answer

    def noted(future, timeout=None):
        waits.append(future)
        return await_answer(future, timeout)

    monkeypatch.setattr(conductor, "await_answer", noted)
    source.answers[ap.ListRecordingRequest] = lambda _: []
    copying.start()
    copying.wait_asked(ap.ListRecordingRequest)
    assert waits == []
    assert copying.wait_end()[-1] == "REPLICATE_END"
    assert waits == []


def test_an_archive_is_busy_while_it_copies(rig, copying) -> None:
    replications = rig.archive._conductor.replications
    assert not replications.is_busy
    copying.start()
    assert replications.is_busy
    copying.wait_end()
    assert not replications.is_busy


def test_the_client_goes_and_the_replication_goes_on(rig, source, copying) -> None:
    source.described |= {"stop_position": 0}
    copying.start()
    rig.send(ap.CloseSessionRequest(control_session_id=rig.session_id))
    copying.wait(lambda: source.asked(ap.CloseSessionRequest), "the replication to end")
    assert [d.stream_id for d in rig.archive._context.catalog.descriptors()] == [1001]
    assert rig.connect() > 0


def test_a_replication_is_stopped_while_it_connects(rig, source, copying) -> None:
    source.answers[ap.AuthConnectRequest] = lambda _: []
    copying.start()
    copying.wait_asked(ap.AuthConnectRequest)
    assert rig.ask(ap.StopReplicationRequest, replication_id=copying.replication_id) == 0
    assert copying.wait_end() == ["REPLICATE_END"]
    assert copying.resources() == copying.before
    assert rig.refused(ap.StopReplicationRequest, replication_id=copying.replication_id) == (
        12,
        f"unknown replication id {copying.replication_id}",
    )


def test_a_stopped_replication_takes_leave_of_its_source(rig, source, copying) -> None:
    copying.start()
    replay = copying.wait_asked(ap.ReplayRequest)
    copying.wait(lambda: "OK" in copying.told(), "the subscription")
    for _ in range(5):
        copying.turn()
    rig.ask(ap.StopReplicationRequest, replication_id=copying.replication_id)
    assert copying.wait_end() == ["REPLICATE", "OK", "REPLICATE_END"]
    assert (replay.position, replay.length) == (0, -1)
    goodbye = source.seen[-2:]
    assert [type(message) for message in goodbye] == [
        ap.StopReplayRequest,
        ap.CloseSessionRequest,
    ]
    assert copying.resources()[:2] == copying.before[:2]


def test_an_archive_that_closes_ends_its_replications(rig, source, copying) -> None:
    copying.start()
    copying.wait_asked(ap.ReplayRequest)
    for _ in range(5):
        copying.turn()
    rig.archive._conductor.replications.close()
    for _ in range(20):
        copying.turn()
    assert source.asked(ap.CloseSessionRequest)
    assert copying.told() == ["REPLICATE", "OK", "REPLICATE_END"]


@pytest.mark.parametrize("rig", [{"bound_control_sessions": False}], indirect=True)
def test_replication_ids_and_session_ids_are_one_sequence(rig, source, copying) -> None:
    session_id = rig.session_id
    copying.start()
    first = copying.replication_id
    copying.wait_end()
    copying.start()
    assert [first, copying.replication_id] == [session_id + 1, session_id + 2]


@pytest.mark.parametrize("dst_recording_id", [0, 5])
def test_a_destination_has_to_exist(rig, copying, dst_recording_id) -> None:
    assert rig.refused(
        ap.ReplicateRequest2,
        src_recording_id=3,
        dst_recording_id=dst_recording_id,
        stop_position=-1,
        channel_tag_id=-1,
        subscription_tag_id=-1,
        src_control_stream_id=10,
        src_control_channel="aeron:ipc",
        replication_channel="aeron:udp?endpoint=127.0.0.1:0",
    ) == (5, f"unknown destination recording id {dst_recording_id}")


def test_a_copy_into_what_is_empty_says_so_in_the_catalog(rig, source, copying) -> None:
    source.described |= {"start_position": 4096, "stop_position": 4096, "stream_id": 2002}
    copying.start()
    copying.wait_end()
    source.described |= {
        "start_position": 8192,
        "stop_position": 8192,
        "stream_id": 3003,
        "original_channel": "aeron:ipc?alias=much-longer-than-before" + "x" * 2000,
    }
    copying.start(dst_recording_id=0)
    assert copying.wait_end() == ["SYNC", "REPLICATE_END"]
    (held,) = rig.archive._context.catalog.descriptors()
    assert (held.recording_id, held.stream_id) == (0, 3003)
    assert (held.start_position, held.stop_position) == (8192, 8192)
    assert held.original_channel == source.described["original_channel"]
