"""Changing recordings of a running archive by command; the archive is ours or the reference's."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from waits import wait_until

from .conftest import CHANNEL, SEGMENT, segments

if TYPE_CHECKING:
    from .conftest import Recordist, Run

pytestmark = pytest.mark.interop

#: Messages of a kibibyte that fill three segments and a half.
MESSAGES = 448


def test_truncate_cuts_a_recording_and_waits_for_the_files(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, MESSAGES)
    cut = SEGMENT + 5 * 1024

    row = run(
        any_archive, "recordings", "truncate", recording_id, cut, "--yes", "--wait", "--json"
    ).json()

    assert row == {
        "recording_id": recording_id, "stop_position": cut, "segment_files": 2, "done": True,
    }  # fmt: skip
    assert segments(any_archive, recording_id) == [0, SEGMENT]
    assert recordist.numbers(recording_id) == list(range(cut // 1024))


@pytest.mark.error_log("replayPosition=")
def test_truncate_refuses_a_position_within_a_frame_and_changes_nothing(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, 20)

    refused = run(any_archive, "recordings", "truncate", recording_id, 1024 + 32, "--yes")

    assert (refused.code, refused.out) == (1, "")
    assert refused.err == "aerolog: no frame begins at position 1056\n"
    assert recordist.archive.stop_position(recording_id) == 20 * 1024
    assert recordist.numbers(recording_id) == list(range(20))


def test_truncate_to_the_start_empties_a_recording(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, MESSAGES)

    text = run(any_archive, "recordings", "truncate", recording_id, 0, "--yes", "--wait").text()

    assert text == f"recording {recording_id} ends at position 0; 4 segment files deleted\n"
    assert segments(any_archive, recording_id) == []
    assert recordist.archive.stop_position(recording_id) == 0


@pytest.mark.parametrize(
    ("command", "position", "files"),
    [
        ("truncate", [1024], 3),
        ("purge", [], 4),
        ("purge-segments", [SEGMENT], 1),
        ("detach", [SEGMENT], 1),
    ],
)
def test_a_dry_run_changes_nothing(
    run: Run,
    any_archive: Any,
    recordist: Recordist,
    stream_id: int,
    command: str,
    position: list[int],
    files: int,
) -> None:
    recording_id = recordist.record(stream_id, MESSAGES)
    before = recordist.archive.list_recording(recording_id)

    row = run(
        any_archive, "recordings", command, recording_id, *position, "--dry-run", "--json"
    ).json()
    text = run(any_archive, "recordings", command, recording_id, *position, "--dry-run").text()

    assert row["refusal"] is None
    assert [change["recording_id"] for change in row["changes"]] == [recording_id]
    assert row["segment_files_at_most"] == files
    assert f"recording {recording_id}" in text
    assert recordist.archive.list_recording(recording_id) == before
    assert segments(any_archive, recording_id) == [n * SEGMENT for n in range(4)]


def test_purge_removes_a_recording(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, MESSAGES)

    row = run(any_archive, "recordings", "purge", recording_id, "--yes", "--wait", "--json").json()
    again = run(any_archive, "recordings", "purge", recording_id, "--yes")

    assert row == {"recording_id": recording_id, "segment_files": 4, "done": True}
    assert segments(any_archive, recording_id) == []
    assert recordist.archive.list_recording(recording_id) is None
    assert (again.code, again.out) == (1, "")
    assert f"unknown recording id: {recording_id}" in again.err


def test_segments_are_detached_attached_detached_and_deleted(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, MESSAGES)
    start = 2 * SEGMENT

    detached = run(any_archive, "recordings", "detach", recording_id, start, "--json").json()
    assert detached == {"recording_id": recording_id, "start_position": start}
    assert segments(any_archive, recording_id) == [n * SEGMENT for n in range(4)]
    assert recordist.numbers(recording_id) == list(range(start // 1024, MESSAGES))

    attached = run(any_archive, "recordings", "attach", recording_id, "--json").json()
    assert attached == {"recording_id": recording_id, "segment_files": 2, "start_position": 0}
    assert recordist.numbers(recording_id) == list(range(MESSAGES))

    run(any_archive, "recordings", "detach", recording_id, start).text()
    deleted = run(
        any_archive, "recordings", "delete-detached", recording_id, "--yes", "--wait", "--json"
    ).json()
    assert deleted == {"recording_id": recording_id, "segment_files": 2, "done": True}
    assert segments(any_archive, recording_id) == [2 * SEGMENT, 3 * SEGMENT]


def test_segments_are_purged(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, MESSAGES)

    row = run(
        any_archive, "recordings", "purge-segments", recording_id, SEGMENT, "--yes", "--wait",
        "--json",
    ).json()  # fmt: skip

    assert row == {
        "recording_id": recording_id, "start_position": SEGMENT, "segment_files": 1, "done": True,
    }  # fmt: skip
    assert segments(any_archive, recording_id) == [n * SEGMENT for n in range(1, 4)]
    assert recordist.archive.start_position(recording_id) == SEGMENT


@pytest.mark.parametrize(
    ("position", "nearest"), [(1000, SEGMENT), (SEGMENT + 7, SEGMENT), (5 * SEGMENT, 3 * SEGMENT)]
)
def test_a_start_that_is_no_segments_is_refused_with_the_nearest_that_is(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int, position: int, nearest: int
) -> None:
    recording_id = recordist.record(stream_id, MESSAGES)

    refused = run(any_archive, "recordings", "detach", recording_id, position)

    assert refused.code == 1
    assert f"position {position} is not where a segment begins" in refused.err
    assert f": {nearest} is, and so is every {SEGMENT} from {SEGMENT} to {3 * SEGMENT}" in (
        refused.err
    )
    # The archive agrees with both.
    archive = recordist.archive
    with pytest.raises(Exception, match="invalid"):
        archive.detach_segments(recording_id, position)
    archive.detach_segments(recording_id, nearest)
    assert archive.start_position(recording_id) == nearest


def continued(recordist: Recordist, recording_id: int, position: int) -> str:
    """The channel of a publication that goes on where a recording ends."""
    recording = recordist.archive.list_recording(recording_id)
    assert recording is not None
    term_length = recording.term_buffer_length
    return (
        f"aeron:ipc?term-length={term_length}|mtu={recording.mtu_length}"
        f"|init-term-id={recording.initial_term_id}"
        f"|term-id={recording.initial_term_id + position // term_length}"
        f"|term-offset={position % term_length}"
    )


def test_segments_are_migrated_to_the_beginning_of_another_recording(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    first = recordist.record(stream_id, 2 * SEGMENT // 1024)
    second = recordist.record(stream_id, 150, continued(recordist, first, 2 * SEGMENT))

    planned = run(any_archive, "recordings", "migrate", first, second, "--dry-run", "--json").json()
    row = run(
        any_archive, "recordings", "migrate", first, second, "--yes", "--wait", "--json"
    ).json()

    assert planned["segment_files_at_most"] == row["segment_files"] == 2
    assert [(one["field"], one["before"], one["after"]) for one in planned["changes"]] == [
        ("stop_position", 2 * SEGMENT, 0),
        ("start_position", 2 * SEGMENT, 0),
    ]
    assert (row["src_recording_id"], row["dst_recording_id"]) == (first, second)
    assert recordist.archive.stop_position(first) == 0
    assert recordist.archive.start_position(second) == 0
    assert segments(any_archive, first) == []
    assert segments(any_archive, second) == [n * SEGMENT for n in range(4)]
    assert recordist.numbers(second) == [*range(256), *range(150)]


def test_segments_that_do_not_join_are_not_migrated(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    first = recordist.record(stream_id, 10)
    second = recordist.record(stream_id, 10)

    refused = run(any_archive, "recordings", "migrate", second, first, "--yes")

    assert refused.code == 1
    assert "the recordings " in refused.err
    assert recordist.archive.stop_position(first) == 10 * 1024


def test_the_channel_of_a_recording_is_updated(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, 5)
    channel = "aeron:ipc?alias=renamed"

    row = run(any_archive, "recordings", "update-channel", recording_id, channel, "--json").json()
    unknown = run(any_archive, "recordings", "update-channel", 987654, channel)

    assert (row["recording_id"], row["original_channel"]) == (recording_id, channel)
    assert row["before"].startswith(CHANNEL.partition("?")[0])
    listed = run(any_archive, "recordings", "list", "--channel", "alias=renamed", "--json").json()
    assert recording_id in [one["recording_id"] for one in listed]
    assert unknown.code == 1
    assert "unknown recording id: 987654" in unknown.err


def test_an_active_recording_is_not_cut_or_removed(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    known: list[int] = []
    with recordist.archive.add_recorded_exclusive_publication(CHANNEL, stream_id) as publication:
        recordist.send(publication, 0, 5)
        recording_id = recordist.find(stream_id, known)
        for command in (["truncate", recording_id, 1024], ["purge", recording_id]):
            refused = run(any_archive, "recordings", *command, "--yes")
            assert refused.code == 1
            assert f"recording {recording_id} is active: stop it first" in refused.err


def test_subscriptions_are_listed_and_stopped_by_id_and_by_channel(
    run: Run, any_archive: Any, stream_id: int, recordist: Recordist
) -> None:
    listing = ["recordings", "subscriptions", "--stream", stream_id, "--json"]
    by_id = recordist.archive.start_recording("aeron:ipc?alias=a", stream_id)

    listed = run(any_archive, *listing).json()
    assert [(one["subscription_id"], one["stream_id"]) for one in listed] == [(by_id, stream_id)]
    stopped = run(any_archive, "recordings", "stop", "--subscription", by_id, "--json").json()
    assert stopped == {"subscription_id": by_id}
    assert run(any_archive, *listing).json() == []

    recordist.archive.start_recording("aeron:ipc", stream_id)
    by_channel = ["recordings", "stop", "--channel", "aeron:ipc", "--stream", stream_id]
    run(any_archive, *by_channel).text()
    again = run(any_archive, *by_channel)
    assert again.code == 1
    assert "no recording found" in again.err


def test_extending_waits_for_the_publication(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, 5)
    channel = continued(recordist, recording_id, 5 * 1024)
    with recordist.aeron.add_exclusive_publication(channel, stream_id) as publication:
        row = run(
            any_archive, "recordings", "extend", recording_id, "aeron:ipc", stream_id,
            "--auto-stop", "--wait", "--json",
        ).json()  # fmt: skip
        recordist.send(publication, 5, 5)
    wait_until(lambda: recordist.archive.stop_position(recording_id) == 10 * 1024, "the extension")

    assert (row["recording_id"], row["position"]) == (recording_id, 5 * 1024)
    assert recordist.numbers(recording_id) == list(range(10))


@pytest.mark.error_log("cannot extend recording")
def test_extending_by_what_does_not_continue_is_an_error_when_waited_for(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, 5)
    with recordist.aeron.add_exclusive_publication(CHANNEL, stream_id):
        refused = run(
            any_archive, "recordings", "extend", recording_id, "aeron:ipc", stream_id,
            "--auto-stop", "--wait",
        )  # fmt: skip

    assert refused.code == 1
    assert f"cannot extend recording {recording_id}" in refused.err


def test_a_truncation_waits_for_a_replay_of_ones_own_but_not_for_ever(
    run: Run, any_archive: Any, recordist: Recordist, stream_id: int
) -> None:
    recording_id = recordist.record(stream_id, MESSAGES)  # more than a replay sends unread
    with recordist.archive.replay(recording_id, 0, follow=False, channel="aeron:ipc"):
        begin = time.monotonic()
        refused = run(
            any_archive, "recordings", "truncate", recording_id, 1024, "--yes",
            "--archive-timeout", "3s",
        )  # fmt: skip
        assert time.monotonic() - begin >= 3
    assert refused.code == 1
    assert "cannot truncate recording with active replay" in refused.err
    assert recordist.archive.stop_position(recording_id) == MESSAGES * 1024
