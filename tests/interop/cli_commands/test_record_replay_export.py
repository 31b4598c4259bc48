"""Recording, looking at, replaying and exporting as processes, on either archive."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet
from waits import wait_until

from aerolog.archive.time_index import TimeIndex

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.interop

LINES = [f"message {number} " + "x" * (number * 5) for number in range(600)]
TEXT = "".join(line + "\n" for line in LINES)


def record_lines(aerolog: Any, archive: Any, stream_id: int, text: str = TEXT) -> int:
    """Records what a publisher sends and gives the recording's id."""
    count = text.count("\n")
    recorder = aerolog("record", "aeron:ipc", stream_id, "--messages", count, on=archive)
    aerolog("publish", "aeron:ipc", stream_id, stdin=text.encode(), on=archive).succeed()
    return int(recorder.succeed())


def folder(archive: Any) -> list[str]:
    return ["--archive-dir", str(archive.archive_dir)]


def settle_times(request: pytest.FixtureRequest, archive: Any, recording_id: int) -> bool:
    """Whether the archive keeps a time index, which has come to the end of a recording then."""
    if request.node.callspec.params["any_archive"] != "ours":
        return False

    def is_indexed() -> bool:
        with TimeIndex.open(archive.archive_dir, recording_id) as index:
            return index.entries > 0 and index.last_position == index.end_position

    wait_until(is_indexed, "a time index up to the end of the recording")
    return True


def test_a_recording_replays_as_it_was_published(
    aerolog: Any, any_archive: Any, stream_id: int
) -> None:
    recording_id = record_lines(aerolog, any_archive, stream_id)

    replayed = aerolog("replay", recording_id, on=any_archive)
    read = aerolog("replay", recording_id, *folder(any_archive))

    assert replayed.succeed() == TEXT
    assert read.succeed() == TEXT


def test_rows_are_the_same_from_the_archive_and_its_folder(
    aerolog: Any, any_archive: Any, stream_id: int, request: pytest.FixtureRequest
) -> None:
    recording_id = record_lines(aerolog, any_archive, stream_id)
    has_times = settle_times(request, any_archive, recording_id)

    replayed = aerolog("replay", recording_id, "--json", on=any_archive).json_lines()
    read = aerolog("replay", recording_id, "--json", *folder(any_archive)).json_lines()

    assert replayed == read
    assert [row["payload"] for row in read] == LINES
    assert {row["recording_id"] for row in read} == {recording_id}
    assert {row["stream_id"] for row in read} == {stream_id}
    times = [row["record_time"] for row in read]
    assert all(times) if has_times else set(times) == {None}


def test_a_part_of_a_recording_is_replayed(aerolog: Any, any_archive: Any, stream_id: int) -> None:
    recording_id = record_lines(aerolog, any_archive, stream_id)
    rows = aerolog("replay", recording_id, "--json", *folder(any_archive)).json_lines()
    begin, end = rows[99]["position"], rows[299]["position"]
    part = ["replay", recording_id, "--position", begin, "--length", end - begin]

    replayed = aerolog(*part, on=any_archive)
    read = aerolog(*part, *folder(any_archive))

    expected = "".join(line + "\n" for line in LINES[100:300])
    assert replayed.succeed() == expected
    assert read.succeed() == expected


@pytest.mark.parametrize("position", [7, 1 << 40])
def test_a_position_that_is_none_of_the_recordings_is_refused(
    aerolog: Any, any_archive: Any, stream_id: int, position: int
) -> None:
    recording_id = record_lines(aerolog, any_archive, stream_id, "a\nb\n")
    wrong = ["replay", recording_id, "--position", position]

    for command in (aerolog(*wrong, on=any_archive), aerolog(*wrong, *folder(any_archive))):
        assert command.wait() == 1
        assert b"osition" in command.stderr
        assert b"Traceback" not in command.stderr


def test_a_recording_is_replayed_onto_a_channel(
    aerolog: Any, any_archive: Any, stream_id: int
) -> None:
    recording_id = record_lines(aerolog, any_archive, stream_id)
    target = stream_id + 500_000
    subscriber = aerolog("subscribe", "aeron:ipc", target, "--until-end", on=any_archive)

    started = aerolog(
        "replay", recording_id, "--channel", "aeron:ipc", "--stream", target, "--json",
        on=any_archive,
    ).json()  # fmt: skip

    assert subscriber.succeed() == TEXT
    assert started["recording_id"] == recording_id
    assert (started["channel"], started["stream_id"]) == ("aeron:ipc", target)
    assert started["position"] == 0
    assert started["replay_session_id"] & 0xFFFFFFFF == started["session_id"] & 0xFFFFFFFF


def test_recordings_are_listed_alike_from_the_archive_and_its_folder(
    aerolog: Any, any_archive: Any, stream_id: int
) -> None:
    recording_id = record_lines(aerolog, any_archive, stream_id, "a\nb\n")
    listing = ["recordings", "list", "--stream", stream_id, "--json"]

    from_archive = aerolog(*listing, on=any_archive).json()
    from_folder = aerolog(*listing, *folder(any_archive)).json()
    described = aerolog("recordings", "describe", recording_id, "--json", on=any_archive).json()
    read = aerolog("recordings", "describe", recording_id, "--json", *folder(any_archive)).json()

    assert from_archive == from_folder == [described] == [read]
    assert described["recording_id"] == recording_id
    assert described["stream_id"] == stream_id
    assert (described["start_position"], described["stop_position"]) == (0, 128)
    assert (described["position"], described["active"]) == (128, False)
    assert described["original_channel"] == "aeron:ipc"
    assert described["start_timestamp"] <= described["stop_timestamp"]


def test_the_list_is_a_table_with_the_fields_names(
    aerolog: Any, our_archive: Any, stream_id: int
) -> None:
    recording_id = record_lines(aerolog, our_archive, stream_id, "a\nb\n")

    heading, row = (
        aerolog("recordings", "list", "--stream", stream_id, on=our_archive).succeed().splitlines()
    )

    assert heading.split() == [
        "recording_id", "stream_id", "session_id", "start_position", "position", "active",
        "start_timestamp", "stop_timestamp", "original_channel",
    ]  # fmt: skip
    assert row.split()[:2] == [str(recording_id), str(stream_id)]
    assert row.split()[3:6] == ["0", "128", "no"]


def test_the_list_is_limited_by_channel_first_id_and_count(
    aerolog: Any, our_archive: Any, stream_id: int
) -> None:
    first = record_lines(aerolog, our_archive, stream_id, "a\n")
    second = record_lines(aerolog, our_archive, stream_id, "b\n")

    def ids(*options: object) -> list[int]:
        listing = ["recordings", "list", "--stream", stream_id, "--json", *options]
        from_archive = aerolog(*listing, on=our_archive).json()
        assert from_archive == aerolog(*listing, *folder(our_archive)).json()
        return [row["recording_id"] for row in from_archive]

    assert ids() == [first, second]
    assert ids("--from", second) == [second]
    assert ids("--count", 1) == [first]
    assert ids("--count", 0) == []
    assert ids("--channel", "ipc") == [first, second]
    assert ids("--channel", "udp") == []


def test_recording_goes_on_until_interrupted(
    aerolog: Any, any_archive: Any, stream_id: int
) -> None:
    recorder = aerolog("record", "aeron:ipc", stream_id, "--json", on=any_archive)
    publisher = aerolog("publish", "aeron:ipc", stream_id, on=any_archive)
    publisher.type(b"one\n")
    started = json.loads(recorder.next_line())
    listing = ["recordings", "describe", started["recording_id"], "--json"]
    wait_until(
        lambda: aerolog(*listing, on=any_archive).json()["position"] == 64, "the message recorded"
    )
    active = aerolog(*listing, on=any_archive).json()
    read = aerolog(*listing, *folder(any_archive)).json()
    tail = aerolog("replay", started["recording_id"], *folder(any_archive)).succeed()

    recorder.signal(signal.SIGINT)

    assert recorder.wait() == 130
    stopped = json.loads(recorder.next_line())
    assert (started["event"], stopped["event"]) == ("started", "stopped")
    assert (stopped["recording_id"], stopped["stop_position"]) == (started["recording_id"], 64)
    assert (active["active"], active["stop_position"]) == (True, None)
    assert read == active
    assert tail == "one\n"
    assert aerolog(*listing, on=any_archive).json()["stop_position"] == 64
    publisher.signal(signal.SIGINT)
    publisher.wait()


def test_recording_ends_after_a_duration(aerolog: Any, our_archive: Any, stream_id: int) -> None:
    recorder = aerolog("record", "aeron:ipc", stream_id, "--duration", "300ms", on=our_archive)

    assert recorder.succeed() == ""


def test_recording_ends_with_the_publisher_when_told_to(
    aerolog: Any, any_archive: Any, stream_id: int
) -> None:
    recorder = aerolog("record", "aeron:ipc", stream_id, "--until-end", on=any_archive)

    aerolog("publish", "aeron:ipc", stream_id, stdin=b"a\nb\n", on=any_archive).succeed()

    recording_id = int(recorder.succeed())
    assert aerolog("replay", recording_id, on=any_archive).succeed() == "a\nb\n"
    assert f"recording {recording_id}: stopped at 128".encode() in recorder.stderr


def test_each_publication_is_a_recording_of_its_own(
    aerolog: Any, any_archive: Any, stream_id: int
) -> None:
    recorder = aerolog("record", "aeron:ipc", stream_id, "--messages", 4, on=any_archive)
    for text in (b"a\nb\n", b"c\nd\n"):
        aerolog("publish", "aeron:ipc", stream_id, stdin=text, on=any_archive).succeed()

    first, second = map(int, recorder.succeed().split())

    assert aerolog("replay", first, on=any_archive).succeed() == "a\nb\n"
    assert aerolog("replay", second, on=any_archive).succeed() == "c\nd\n"


def test_a_recording_is_stopped_by_its_id(aerolog: Any, any_archive: Any, stream_id: int) -> None:
    recorder = aerolog("record", "aeron:ipc", stream_id, "--until-end", on=any_archive)
    publisher = aerolog("publish", "aeron:ipc", stream_id, on=any_archive)
    publisher.type(b"one\n")
    recording_id = int(recorder.next_line())
    describe = ["recordings", "describe", recording_id, "--json"]
    wait_until(
        lambda: aerolog(*describe, on=any_archive).json()["position"] == 64, "the message recorded"
    )

    stopped = aerolog("recordings", "stop", recording_id, "--json", on=any_archive).json()
    again = aerolog("recordings", "stop", recording_id, on=any_archive)

    assert stopped == {"recording_id": recording_id, "stop_position": 64}
    assert recorder.succeed() == f"{recording_id}\n"
    assert again.wait() == 1
    assert f"recording {recording_id} is not active".encode() in again.stderr
    publisher.signal(signal.SIGINT)
    publisher.wait()


def test_a_recording_is_extended(aerolog: Any, any_archive: Any, stream_id: int) -> None:
    recording_id = record_lines(aerolog, any_archive, stream_id, "a\nb\n")
    before = aerolog("recordings", "describe", recording_id, "--json", on=any_archive).json()
    term_id, term_length = before["initial_term_id"], before["term_buffer_length"]
    channel = (
        f"aeron:ipc?init-term-id={term_id}|term-id={term_id}|term-offset=128|"
        f"term-length={term_length}|mtu={before['mtu_length']}"
    )

    extended = aerolog(
        "recordings", "extend", recording_id, "aeron:ipc", stream_id, "--json", on=any_archive
    ).json()
    aerolog("publish", channel, stream_id, stdin=b"c\n", on=any_archive).succeed()
    wait_until(
        lambda: (
            aerolog("recordings", "describe", recording_id, "--json", on=any_archive).json()[
                "stop_position"
            ]
            == 192
        ),
        "the extension recorded",
    )

    assert extended["recording_id"] == recording_id
    assert aerolog("replay", recording_id, on=any_archive).succeed() == "a\nb\nc\n"


def test_a_live_recording_is_followed(aerolog: Any, any_archive: Any, stream_id: int) -> None:
    recorder = aerolog("record", "aeron:ipc", stream_id, "--until-end", on=any_archive)
    publisher = aerolog("publish", "aeron:ipc", stream_id, on=any_archive)
    publisher.type(b"one\n")
    recording_id = int(recorder.next_line())
    follower = aerolog("replay", recording_id, "--follow", on=any_archive)
    assert follower.next_line() == "one"

    publisher.type(b"two\n")
    assert follower.next_line() == "two"
    assert publisher.process.stdin is not None
    publisher.process.stdin.close()

    publisher.succeed()
    recorder.succeed()
    assert follower.succeed() == "one\ntwo\n"


@pytest.mark.parametrize("fragments", [False, True])
def test_an_export_is_the_same_from_the_archive_and_its_folder(
    aerolog: Any,
    any_archive: Any,
    stream_id: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    fragments: bool,
) -> None:
    recording_id = record_lines(aerolog, any_archive, stream_id)
    has_times = settle_times(request, any_archive, recording_id)
    options = ["--fragments"] if fragments else []
    replayed, read = tmp_path / "replayed", tmp_path / "read"

    results = [
        aerolog("export", recording_id, "--to", replayed, *options, "--json", on=any_archive),
        aerolog("export", recording_id, "--to", read, *options, "--json", *folder(any_archive)),
    ]
    reports = [result.json() for result in results]

    names = sorted(path.name for path in read.iterdir() if path.suffix == ".parquet")
    assert sorted(path.name for path in replayed.glob("*.parquet")) == names
    table = parquet.read_table(read / names[0])
    assert parquet.read_table(replayed / names[0]).equals(table, check_metadata=True)
    assert table["record_time"].null_count == (0 if has_times else table.num_rows)
    payloads = [value.decode() for value in table.column("payload").to_pylist()]
    assert "".join(payloads) == "".join(LINES)
    assert (payloads == LINES) is not fragments
    for (report,), target in zip(reports, (replayed, read), strict=True):
        assert report["path"] == str(target / names[0])
        assert report["rows"] == table.num_rows
        assert report["payload_bytes"] == sum(map(len, LINES))


def test_several_recordings_are_exported_to_a_file_each(
    aerolog: Any, our_archive: Any, stream_id: int, tmp_path: Path
) -> None:
    ids = [record_lines(aerolog, our_archive, stream_id, text) for text in ("a\n", "b\nc\n")]

    rows = aerolog("export", *ids, "--to", tmp_path, *folder(our_archive)).succeed().splitlines()

    assert rows[0].split() == [
        "recording_id", "path", "file_bytes", "rows", "payload_bytes", "seconds",
    ]  # fmt: skip
    assert [row.split()[0] for row in rows[1:]] == list(map(str, ids))
    assert [row.split()[3] for row in rows[1:]] == ["1", "2"]
    assert len(list(tmp_path.glob("*.parquet"))) == 2


def test_an_unknown_recording_is_an_error_everywhere(
    aerolog: Any, any_archive: Any, tmp_path: Path
) -> None:
    commands = [
        ["recordings", "describe", 987654],
        ["replay", 987654],
        ["export", 987654, "--to", tmp_path],
    ]
    runs = [
        run
        for command in commands
        for run in (aerolog(*command, on=any_archive), aerolog(*command, *folder(any_archive)))
    ]
    runs.append(aerolog("recordings", "stop", 987654, on=any_archive))
    runs.append(aerolog("recordings", "extend", 987654, "aeron:ipc", 7, on=any_archive))

    for run in runs:
        assert run.wait() == 1
        assert b"987654" in run.stderr
        assert b"Traceback" not in run.stderr
        assert run.stdout == b""
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_archive_is_an_error(aerolog: Any, tmp_path: Path) -> None:
    for command in (
        ["recordings", "list"],
        ["recordings", "describe", 0],
        ["replay", 0],
        ["export", 0, "--to", tmp_path / "out"],
    ):
        run = aerolog(*command, "--archive-dir", tmp_path)
        assert run.wait() == 1
        assert b"archive.catalog" in run.stderr
        assert b"Traceback" not in run.stderr


def test_without_an_archive_a_command_gives_up(
    aerolog: Any, our_driver: Any, stream_id: int
) -> None:
    run = aerolog("record", "aeron:ipc", stream_id, "--archive-timeout", "300ms", on=our_driver)

    assert run.wait() == 1
    assert b"Traceback" not in run.stderr
    assert b"rchive" in run.stderr
