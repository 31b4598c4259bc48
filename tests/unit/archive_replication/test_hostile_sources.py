"""Sources that lie, stall or talk nonsense: the archive tells why it gives up, and lives on."""

from __future__ import annotations

import pytest

from aerolog.archive import protocol as ap

K = 1024

IMPOSSIBLE = [
    ("segment-of-three-terms", {"segment_file_length": 192 * K}, "invalid segment file length"),
    ("segment-shorter-than-a-term", {"segment_file_length": 32 * K}, "invalid segment file length"),
    ("no-segment", {"segment_file_length": 0}, "invalid segment file length"),
    ("negative-segment", {"segment_file_length": -(2**31)}, "invalid segment file length"),
    ("term-of-no-power", {"term_buffer_length": 100_000}, "invalid term buffer length"),
    ("no-term", {"term_buffer_length": 0}, "invalid term buffer length"),
    ("negative-term", {"term_buffer_length": -65536}, "invalid term buffer length"),
    ("unaligned-start", {"start_position": 33}, "invalid start_position: 33"),
    ("negative-start", {"start_position": -32}, "invalid start_position: -32"),
    ("start-out-of-reach", {"start_position": 1 << 62, "stop_position": -1}, "start_position"),
    ("stop-before-start", {"start_position": 4096, "stop_position": 64}, "is before"),
    ("negative-stop", {"stop_position": -64}, "invalid stop_position"),
    ("no-mtu", {"mtu_length": 0}, "invalid mtu: 0"),
    ("negative-mtu", {"mtu_length": -1408}, "invalid mtu: -1408"),
    ("mtu-longer-than-a-datagram", {"mtu_length": 1 << 20}, "invalid mtu"),
    ("unaligned-mtu", {"mtu_length": 1401}, "invalid mtu: 1401"),
    ("another-recording", {"recording_id": 4}, "describes recording 4 when asked for 3"),
]


@pytest.mark.parametrize(
    ("changes", "reason"), [row[1:] for row in IMPOSSIBLE], ids=[row[0] for row in IMPOSSIBLE]
)
def test_impossible_descriptors_are_not_taken(rig, source, copying, changes, reason) -> None:
    source.described |= changes
    copying.start()
    error, end = copying.wait_end()
    assert error.startswith("0 ")
    assert reason in error
    assert end == "REPLICATE_END"
    assert copying.resources() == copying.before
    assert rig.ask(ap.ArchiveIdRequest) == 7


def test_a_descriptor_with_texts_of_any_length_is_kept(rig, source, copying) -> None:
    source.described |= {
        "original_channel": "aeron:ipc?alias=" + "x" * 6_000,
        "stripped_channel": "not a channel at all",
        "source_identity": "\x7f" * 1000,
        "start_position": 4096,
        "stop_position": 4096,
    }
    copying.start()
    assert copying.wait_end() == ["REPLICATE", "SYNC", "REPLICATE_END"]
    copy = rig.archive._context.catalog.descriptor(0)
    for name in ("original_channel", "stripped_channel", "source_identity"):
        assert getattr(copy, name) == source.described[name]


def test_nobody_answers(rig, source, copying) -> None:
    copying.start(src_control_stream_id=556)
    began_ns = rig.clock.now_ns()
    error, end = copying.wait_end()
    assert error.startswith(
        "14 Replication connection failed=ERROR - Archive connect timeout:"
        " step=AWAIT_PUBLICATION_CONNECTED"
    )
    assert end == "REPLICATE_END"
    assert 10e9 <= rig.clock.now_ns() - began_ns < 11e9
    assert copying.resources() == copying.before


@pytest.mark.parametrize(
    ("silent", "text"),
    [
        (
            ap.AuthConnectRequest,
            (
                "14 Replication connection failed=ERROR - Archive connect timeout:"
                " step=AWAIT_CONNECT_RESPONSE"
            ),
        ),
        (
            ap.ArchiveIdRequest,
            (
                "14 Replication connection failed=ERROR - Archive connect timeout:"
                " step=AWAIT_ARCHIVE_ID_RESPONSE"
            ),
        ),
        (ap.ListRecordingRequest, "0 ERROR - failed to fetch remote recording descriptor"),
        (ap.ReplayRequest, "0 ERROR - failed get acknowledgement of replay request to: aeron:udp"),
    ],
    ids=["connect", "archive-id", "descriptor", "replay"],
)
def test_a_source_that_falls_silent(rig, source, copying, silent, text) -> None:
    source.answers[silent] = lambda _: []
    copying.start()
    told = copying.wait_end()
    assert any(line.startswith(text) for line in told), told
    assert copying.resources()[:2] == copying.before[:2]
    assert rig.ask(ap.ArchiveIdRequest) == 7


def test_a_replay_that_never_comes(source, copying) -> None:
    copying.start()
    told = copying.wait_end()
    assert told[:2] == ["REPLICATE", "OK"]
    assert told[2].startswith("0 ERROR - failed get replay image for sessionId=42 on channel=")
    assert told[3:] == ["REPLICATE_END"]
    # It may still come, so the source is told that nobody waits for it.
    (stop,) = source.asked(ap.StopReplayRequest)
    assert stop.replay_session_id == 1 << 32 | 42
    assert len(source.asked(ap.CloseSessionRequest)) == 1
    assert copying.resources()[:2] == copying.before[:2]


@pytest.mark.parametrize(
    ("request_class", "code", "text"),
    [
        (ap.ListRecordingRequest, 1, "active listing already in progress"),
        (ap.ReplayRequest, 7, "max concurrent replays reached 20"),
    ],
)
def test_what_the_source_refuses_is_told(source, copying, request_class, code, text) -> None:
    source.answers[request_class] = lambda r: [source.error(r, code, text)]
    copying.start()
    assert f"0 ERROR - {text}" in copying.wait_end()


def test_answers_that_make_no_sense(source, copying) -> None:
    source.answers[ap.ListRecordingRequest] = lambda r: [source.ok(r, 5)]
    copying.start()
    assert copying.wait_end() == [
        "0 ERROR - unexpected response code: OK",
        "REPLICATE_END",
    ]


def test_a_wrong_id_in_the_answer_about_an_unknown_recording(source, copying) -> None:
    source.answers[ap.ListRecordingRequest] = lambda r: [
        source.response(r, 1 << 50, ap.ControlResponseCode.RECORDING_UNKNOWN)
    ]
    copying.start()
    assert copying.wait_end() == ["5 unknown src recording id 3", "REPLICATE_END"]


def test_noise_is_skipped(source, copying) -> None:
    def answer(request):
        good = source.descriptor_for(request)
        foreign = source.descriptor_for(request, recording_id=8).encode()
        other_session = foreign[:8] + (1234).to_bytes(8, "little") + foreign[16:]
        return [
            b"",
            b"\xff" * 7,
            b"\xff" * 300,
            good.encode()[:40],
            good.encode()[:-3],
            other_session,
            ap.Ping(control_session_id=99),
            good,
            good,
        ]

    source.answers[ap.ListRecordingRequest] = answer
    source.described |= {"stop_position": 0}
    copying.start()
    assert copying.wait_end() == ["REPLICATE", "SYNC", "REPLICATE_END"]


def test_an_error_that_belongs_to_no_request(source, copying) -> None:
    copying.start()
    replay = copying.wait_asked(ap.ReplayRequest)
    copying.wait(lambda: "OK" in copying.told(), "the subscription")
    for _ in range(5):
        copying.turn()
    source.send(source.error(replay, 0, "the segment file is gone"))
    told = copying.wait_end()
    assert told == ["REPLICATE", "OK", "0 ERROR - the segment file is gone", "REPLICATE_END"]


def test_a_source_that_goes_away(source, copying) -> None:
    copying.start()
    copying.wait_asked(ap.ReplayRequest)
    for _ in range(5):
        copying.turn()
    assert source.responses is not None
    source.responses.revoke()
    assert copying.wait_end() == ["REPLICATE", "OK", "0 ERROR - not connected", "REPLICATE_END"]
    assert copying.resources()[:2] == copying.before[:2]


def test_a_source_that_asks_for_proof(source, copying) -> None:
    source.answers[ap.AuthConnectRequest] = lambda r: [
        ap.Challenge(
            control_session_id=99, correlation_id=r.correlation_id, encoded_challenge=b"who?"
        )
    ]
    copying.start(encoded_credentials=b"me")
    assert copying.wait_end() == [
        (
            "14 Replication connection failed=ERROR - Replication does not support"
            " challenge/response authentication"
        ),
        "REPLICATE_END",
    ]
    (connect,) = source.asked(ap.AuthConnectRequest)
    assert connect.encoded_credentials == b"me"
    assert copying.resources() == copying.before


def test_a_live_source_that_is_not_active(source, copying) -> None:
    source.described |= {"stop_position": -1}
    source.answers[ap.RecordingPositionRequest] = lambda r: [source.ok(r, -1)]
    copying.start(live_destination="aeron:udp?endpoint=127.0.0.1:23456")
    assert copying.wait_end() == [
        "REPLICATE",
        "0 ERROR - cannot live merge without active source recording",
        "REPLICATE_END",
    ]


def test_positions_that_are_not_answered_are_asked_for_three_times(source, copying) -> None:
    source.described |= {"stop_position": -1}
    source.answers[ap.RecordingPositionRequest] = lambda _: []
    copying.start(live_destination="aeron:udp?endpoint=127.0.0.1:23456")
    told = copying.wait_end()
    assert told[-1] == "REPLICATE_END"
    assert told[1] == "0 ERROR - failed to get recording position"
    assert len(source.asked(ap.RecordingPositionRequest)) == 3
