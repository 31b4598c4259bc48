"""What a client is told of a replication: one transcript for every pair of makes.

The lines were taken from the reference on both sides, which still has to say the same; a pair with
an archive of ours must not differ in a single one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.counter_types import ArchiveCounterType

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.interop,
    pytest.mark.error_log(
        "control response publication is not connected", "controlSessionId=", at_times=True
    ),
]

BEGUN = [
    "REPLICATE recording=destination subscription=none position=0",
    "OK subscription",
    "EXTEND recording=destination subscription=subscription position=0",
]
ENDED = "REPLICATE_END recording=destination subscription=none position=-1"
ENDED_WITHOUT = "REPLICATE_END recording=none subscription=none position=-1"
MESSAGES = 100


def synced(position: int) -> str:
    return f"SYNC recording=destination subscription=subscription position={position}"


def stopped(position: int) -> str:
    return f"STOP recording=destination subscription=subscription position={position}"


def extended(position: int) -> str:
    return f"EXTEND recording=destination subscription=subscription position={position}"


def complete(stop: int) -> list[str]:
    return [*BEGUN, synced(stop), ENDED, stopped(stop)]


def new_recording_id(replication: Any) -> int:
    (signal,) = replication.signals("REPLICATE")
    return signal.recording_id


@dataclass(frozen=True)
class Variant:
    """A way to ask for the whole of a recording."""

    name: str
    request: type[ap.Message]
    fields: Callable[[int], dict[str, Any]]


def variant(name: str, request: type[ap.Message], **fields: Any) -> Variant:
    return Variant(name, request, lambda number: fields)


SECOND = {"stop_position": -1, "channel_tag_id": -1, "subscription_tag_id": -1}
VARIANTS = [
    variant("ReplicateRequest", ap.ReplicateRequest, live_destination=""),
    Variant(
        "TaggedReplicateRequest",
        ap.TaggedReplicateRequest,
        lambda n: {"channel_tag_id": n, "subscription_tag_id": n + 1, "live_destination": ""},
    ),
    Variant(
        "TaggedReplicateRequest-channel-tag-only",
        ap.TaggedReplicateRequest,
        lambda n: {"channel_tag_id": n, "subscription_tag_id": -1, "live_destination": ""},
    ),
    variant("ReplicateRequest2", ap.ReplicateRequest2, **SECOND),
    variant(
        "ReplicateRequest2-session-id",
        ap.ReplicateRequest2,
        **SECOND | {"replication_session_id": -77},
    ),
    variant(
        "ReplicateRequest2-file-io-max-length",
        ap.ReplicateRequest2,
        **SECOND | {"file_io_max_length": 2048},
    ),
    Variant(
        "ReplicateRequest2-tagged",
        ap.ReplicateRequest2,
        lambda n: SECOND | {"channel_tag_id": n, "subscription_tag_id": n + 1},
    ),
    variant(
        "ReplicateRequest2-replication-channel",
        ap.ReplicateRequest2,
        **SECOND | {"replication_channel": "aeron:udp?endpoint=localhost:0|alias=copy"},
    ),
    variant(
        "ReplicateRequest2-response-channel",
        ap.ReplicateRequest2,
        **SECOND | {"src_response_channel": "aeron:udp?endpoint=localhost:0"},
    ),
    variant(
        "ReplicateRequest2-stop-beyond-the-end",
        ap.ReplicateRequest2,
        **SECOND | {"stop_position": 1 << 40},
    ),
]


@pytest.mark.parametrize("wanted", VARIANTS, ids=lambda v: v.name)
def test_a_stopped_recording_is_copied(pair, wanted) -> None:
    recording = pair.source.record(pair.stream_id, MESSAGES)
    replication = pair.watch.start(
        wanted.request,
        src_recording_id=recording.recording_id,
        dst_recording_id=-1,
        src_control_stream_id=10,
        src_control_channel=pair.source.control,
        **wanted.fields(100_000 + 10 * pair.stream_id),
    )
    assert replication.wait_end() == complete(recording.stop)
    pair.check_copied(recording, new_recording_id(replication))


def test_what_is_in_sync_is_left_alone(pair) -> None:
    recording = pair.source.record(pair.stream_id, MESSAGES)
    first = pair.replicate(recording)
    first.wait_end()
    copy = new_recording_id(first)
    before = pair.destination.archive.list_recording(copy)
    again = pair.replicate(recording, dst_recording_id=copy)
    assert again.wait_end(stop=False) == [
        f"SYNC recording=destination subscription=none position={recording.stop}",
        ENDED,
    ]
    assert pair.destination.archive.list_recording(copy) == before


def test_an_empty_source_is_in_sync_at_once(pair) -> None:
    recording = pair.source.record(pair.stream_id, 0)
    replication = pair.replicate(recording)
    assert replication.wait_end(stop=False) == [
        BEGUN[0],
        "SYNC recording=destination subscription=none position=0",
        ENDED,
    ]
    copy = pair.destination.archive.list_recording(new_recording_id(replication))
    source = pair.source.archive.list_recording(recording.recording_id)
    assert (copy.start_position, copy.stop_position) == (0, 0)
    assert copy.start_timestamp == copy.stop_timestamp == source.start_timestamp
    assert copy.term_buffer_length == source.term_buffer_length


def test_a_copy_ends_at_a_stop_position_and_goes_on_from_there(pair) -> None:
    recording = pair.source.record(pair.stream_id, MESSAGES)
    first = pair.replicate(recording, stop_position=100_000, replication_session_id=4711)
    lines = first.wait_end()
    copy = new_recording_id(first)
    middle = pair.destination.archive.stop_position(copy)
    # The frame that holds the position is copied whole.
    assert 100_000 <= middle < recording.stop
    assert lines == [*BEGUN, ENDED, stopped(middle)]
    assert pair.destination.archive.list_recording(copy).session_id == 4711
    pair.check_copied(recording, copy, middle)

    second = pair.replicate(recording, dst_recording_id=copy)
    assert second.wait_end() == [
        "OK subscription",
        extended(middle),
        synced(recording.stop),
        ENDED,
        stopped(recording.stop),
    ]
    pair.check_copied(recording, copy)


def test_a_copy_to_the_position_where_it_stands_replays_nothing(pair) -> None:
    recording = pair.source.record(pair.stream_id, MESSAGES)
    first = pair.replicate(recording, stop_position=64)
    first.wait_end()
    copy = new_recording_id(first)
    middle = pair.destination.archive.stop_position(copy)
    again = pair.replicate(
        recording, dst_recording_id=copy, stop_position=middle, replication_session_id=4712
    )
    assert again.wait_end() == ["OK subscription", extended(middle), ENDED, stopped(middle)]


def test_an_empty_destination_becomes_the_copy(pair) -> None:
    recording = pair.source.record(pair.stream_id, MESSAGES)
    # Another stream, longer terms, more to say about its channel.
    other = pair.destination.record(
        pair.stream_id + 100_000, 5, "aeron:ipc?term-length=128k|alias=an-alias-of-some-length"
    )
    behind = pair.destination.record(pair.stream_id + 200_000, 5)
    kept = pair.destination.archive.list_recording(behind.recording_id)
    pair.destination.archive.truncate_recording(other.recording_id, 0)
    replication = pair.replicate(recording, dst_recording_id=other.recording_id)
    assert replication.wait_end() == [
        "OK subscription",
        extended(0),
        synced(recording.stop),
        ENDED,
        stopped(recording.stop),
    ]
    pair.check_copied(recording, other.recording_id)
    copy = pair.destination.archive.list_recording(other.recording_id)
    source = pair.source.archive.list_recording(recording.recording_id)
    assert copy.start_timestamp == source.start_timestamp
    assert copy.session_id == source.session_id
    assert pair.destination.archive.list_recording(behind.recording_id) == kept


def test_a_live_source_is_followed_until_it_stops(pair) -> None:
    source = pair.source.source(pair.stream_id)
    source.offer(50)
    replication = pair.replicate(source.recording_id)
    replication.wait_signal("EXTEND")
    source.offer(MESSAGES)
    recording = source.stop()
    # Active when it was asked about, so there is nothing to be in sync with.
    assert replication.wait_end() == [*BEGUN, ENDED, stopped(recording.stop)]
    copy = new_recording_id(replication)
    pair.check_copied(recording, copy)
    again = pair.replicate(recording, dst_recording_id=copy)
    assert again.wait_end(stop=False)[0].startswith("SYNC")


def test_a_replication_is_stopped(pair) -> None:
    source = pair.source.source(pair.stream_id)
    position = source.offer(50)
    replication = pair.replicate(source.recording_id)
    replication.wait_signal("EXTEND")
    copy = new_recording_id(replication)
    wait_recorded(pair, copy, position)
    labels = [c.label for c in pair.destination.counters(ArchiveCounterType.RECORDING_POSITION)]
    answer = pair.watch.ask(
        pair.watch.message(ap.StopReplicationRequest, replication_id=replication.replication_id)
    )
    assert (answer.code, answer.relevant_id) == (ap.ControlResponseCode.OK, 0)
    assert replication.wait_end() == [*BEGUN, ENDED, stopped(position)]
    recording = source.stop()
    pair.check_copied(recording, copy, position)
    channel = f"aeron:udp?endpoint=127.0.0.1:0|session-id={recording.session_id}|rejoin=false"
    assert [
        label.startswith(f"rec-pos: {copy} {recording.session_id} {pair.stream_id} {channel} -")
        for label in labels
    ] == [True]


def wait_recorded(pair: Any, recording_id: int, position: int) -> None:
    pair.wait(
        lambda: pair.destination.archive.recording_position(recording_id) == position,
        f"{position} to be copied",
    )


def test_the_source_sees_who_copies(pair) -> None:
    source = pair.source.source(pair.stream_id)
    source.offer(5)
    replication = pair.replicate(source.recording_id)
    replication.wait_signal("EXTEND")
    wanted = (
        f"name=archive archiveId={pair.destination.archive.archive_id}"
        f" replicationSessionId={replication.replication_id} "
    )
    assert [
        c.label.count(wanted)
        for c in pair.source.counters(ArchiveCounterType.CONTROL_SESSION)
        if wanted in c.label
    ] == [1]
    source.stop()
    replication.wait_end()
    pair.wait(
        lambda: (
            not any(
                wanted in c.label for c in pair.source.counters(ArchiveCounterType.CONTROL_SESSION)
            )
        ),
        "the session with the source to end",
    )


# Name, errors that the archive counts, what is asked for, what is told.
REFUSED = [
    (
        "unknown-source",
        0,
        {"src_recording_id": 1 << 40},
        ["ERROR 5 unknown src recording id 1099511627776", ENDED_WITHOUT],
    ),
    (
        "negative-source",
        0,
        {"src_recording_id": -1},
        ["ERROR 5 unknown src recording id -1", ENDED_WITHOUT],
    ),
    (
        "file-io-max-length",
        0,
        {"file_io_max_length": 1000},
        [
            (
                "ERROR 0 Replication fileIoMaxLength (1000) is less than than the recording"
                " mtuLength (1408)"
            ),
            ENDED_WITHOUT,
        ],
    ),
    (
        "control-channel",
        1,
        {"src_control_channel": "garbage"},
        ["ERROR 0 Aeron URIs must start with 'aeron:', found: garbage", ENDED_WITHOUT],
    ),
    (
        "response-channel",
        1,
        {"src_response_channel": "garbage"},
        ["ERROR 0 Aeron URIs must start with 'aeron:', found: garbage", ENDED_WITHOUT],
    ),
    (
        "live-destination-of-a-stopped-source",
        0,
        {"live_destination": "aeron:udp?endpoint=127.0.0.1:23333"},
        [BEGUN[0], "ERROR 0 cannot live merge without active source recording", ENDED],
    ),
    (
        "negative-stop-position",
        1,
        {"stop_position": -5},
        [
            *BEGUN[:2],
            (
                "ERROR 0 ERROR - replay length must be positive: replayLength=-5, length=-5,"
                " stopPosition=<stop>, replayPosition=0 for recording <source>"
            ),
            ENDED,
        ],
    ),
    (
        "no-endpoint-to-replay-to",
        1,
        {"replication_channel": "aeron:ipc"},
        [
            *BEGUN[:2],
            (
                "ERROR 0 ERROR - failed to resolve subscription endpoint:"
                " channel=aeron:ipc?session-id=<session>|rejoin=false"
            ),
            ENDED,
        ],
    ),
]


@pytest.mark.error_log(
    "Aeron URIs must start with",
    "failed to resolve subscription endpoint",
    "replay length must be positive",
)
@pytest.mark.parametrize(
    ("counted", "fields", "lines"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_cannot_be_copied(pair, counted, fields, lines) -> None:
    recording = pair.source.record(pair.stream_id, 3)
    before = pair.destination.error_count()
    replication = pair.replicate(recording, **fields)
    names = {
        "<stop>": recording.stop,
        "<source>": recording.recording_id,
        "<session>": recording.session_id,
    }
    expected = lines
    for name, value in names.items():
        expected = [line.replace(name, str(value)) for line in expected]
    assert replication.wait_end(stop=False) == expected
    pair.wait(lambda: pair.destination.error_count() == before + counted, f"{counted} errors")


@pytest.mark.error_log("unresolved - endpoint")
@pytest.mark.parametrize(
    ("fields", "end"),
    [
        ({"src_control_stream_id": 11}, "step=AWAIT_PUBLICATION_CONNECTED"),
        ({"src_control_channel": "aeron:udp?endpoint=127.0.0.1:9"}, "AWAIT_PUBLICATION_CONNECTED"),
        ({"src_response_channel": "aeron:ipc"}, "step=AWAIT_SUBSCRIPTION_CONNECTED"),
        (
            {"src_control_channel": "aeron:udp?endpoint=nowhere.invalid:1234"},
            "UnknownHostException: unresolved - endpoint=nowhere.invalid:1234",
        ),
    ],
    ids=["stream-of-nobody", "port-of-nobody", "responses-astray", "unknown-host"],
)
def test_a_source_that_cannot_be_reached(pair, fields, end) -> None:
    recording = pair.source.record(pair.stream_id, 3)
    error, last = pair.replicate(recording, **fields).wait_end(stop=False)
    assert error.startswith("ERROR 14 Replication connection failed=ERROR - "), error
    assert end in error
    assert last == ENDED_WITHOUT


@pytest.mark.error_log("cannot extend recording")
def test_a_destination_of_other_terms_is_refused(pair) -> None:
    # Where the other one ends, the source has a frame that begins: it finds nothing wrong.
    recording = pair.source.record(pair.stream_id, 50, length=480)
    other = pair.destination.record(pair.stream_id, 3, length=480)
    replication = pair.replicate(recording, dst_recording_id=other.recording_id)
    lines = replication.wait_end(stop=False)
    assert len(lines) == 3, lines
    first, second, last = lines
    assert first == "OK subscription"
    assert second.startswith(
        f"ERROR 9 cannot extend recording {other.recording_id} image.initialTermId="
    )
    assert last == ENDED
    pair.destination.check_intact(other)


def test_a_destination_of_another_stream_is_refused(pair) -> None:
    recording = pair.source.record(pair.stream_id, 50)
    other = pair.destination.record(pair.stream_id + 100_000, 3)
    replication = pair.replicate(recording, dst_recording_id=other.recording_id)
    assert replication.wait_end(stop=False) == [
        (
            f"ERROR 5 cannot extend recording {other.recording_id} with streamId={pair.stream_id}"
            f" for existing streamId={other.stream_id}"
        ),
        ENDED,
    ]
    pair.destination.check_intact(other)


@pytest.mark.error_log("requested replay start position")
def test_a_destination_ahead_of_its_source_is_refused(pair) -> None:
    recording = pair.source.record(pair.stream_id, 3)
    other = pair.destination.record(pair.stream_id, 50)
    replication = pair.replicate(recording, dst_recording_id=other.recording_id)
    assert replication.wait_end(stop=False) == [
        "OK subscription",
        (
            f"ERROR 0 ERROR - requested replay start position={other.stop} must be less than the"
            f" limit position={recording.stop} for recording {recording.recording_id}"
        ),
        ENDED,
    ]
    pair.destination.check_intact(other)


RESPONSE = "aeron:udp?control-mode=response|control=127.0.0.1:0"
REFUSALS = [
    ({"dst_recording_id": 1 << 40}, (5, "unknown destination recording id 1099511627776")),
    (
        {"replication_channel": RESPONSE, "live_destination": "aeron:udp?endpoint=127.0.0.1:1"},
        (0, "response channels can't be used with live destinations"),
    ),
    (
        {"replication_channel": RESPONSE, "channel_tag_id": 5},
        (0, "response channels can't be used with tagged replication"),
    ),
    (
        {"replication_channel": RESPONSE, "subscription_tag_id": 5},
        (0, "response channels can't be used with tagged replication"),
    ),
]


@pytest.mark.parametrize(("fields", "answer"), REFUSALS)
def test_requests_that_are_refused(pair, fields, answer) -> None:
    asked = {"src_recording_id": 0, "src_control_channel": pair.source.control}
    assert pair.watch.refusal(**asked | fields) == answer


def test_nothing_is_copied_into_an_active_recording(pair) -> None:
    source = pair.destination.source(pair.stream_id)
    assert pair.watch.refusal(
        src_recording_id=0,
        src_control_channel=pair.source.control,
        dst_recording_id=source.recording_id,
    ) == (2, f"cannot replicate to active recording {source.recording_id}")
    source.stop()


def test_a_replication_that_there_is_not_cannot_be_stopped(pair) -> None:
    answer = pair.watch.ask(pair.watch.message(ap.StopReplicationRequest, replication_id=1 << 40))
    assert (answer.code, answer.relevant_id, answer.error_message) == (
        ap.ControlResponseCode.ERROR,
        12,
        "unknown replication id 1099511627776",
    )


def test_a_source_that_begins_later_is_copied_from_there(pair) -> None:
    recording = pair.source.record(pair.stream_id, 200)
    start = 131_072
    assert recording.stop > start
    assert pair.source.archive.purge_segments(recording.recording_id, start) == 1
    replication = pair.replicate(recording)
    assert replication.wait_end() == [
        f"REPLICATE recording=destination subscription=none position={start}",
        "OK subscription",
        extended(start),
        synced(recording.stop),
        ENDED,
        stopped(recording.stop),
    ]
    copy = new_recording_id(replication)
    assert pair.destination.archive.start_position(copy) == start
    pair.check_copied(recording, copy)


def test_many_are_copied_at_once(pair) -> None:
    recordings = [pair.source.record(pair.stream_id + 1000 * n, 30 + n) for n in range(6)]
    replications = [pair.replicate(recording) for recording in recordings]
    for recording, replication in zip(recordings, replications, strict=True):
        assert replication.wait_end() == complete(recording.stop)
        pair.check_copied(recording, new_recording_id(replication))
    pair.wait(
        lambda: (
            not any(
                c.value for c in pair.destination.counters(ArchiveCounterType.RECORDING_SESSIONS)
            )
        ),
        "recordings to end",
    )
