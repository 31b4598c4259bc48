"""`aerolog replay` with several recordings: lines that name them, JSON, one stream."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest
from live_archive import archiving, until
from merge_folders import Row, every, merged, write_recording
from shared_memory import memory_folder

from aerolog.tools.main import main
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1_000_000_000
T0 = 1_700_000_000 * SECOND
CHANNEL = "aeron:ipc?term-length=64k"
STREAM_ID = 4100


@pytest.fixture
def two(tmp_path: Path) -> list[list[Row]]:
    return [
        write_recording(tmp_path, every(T0, SECOND, 4, "a")),
        write_recording(tmp_path, every(T0 + SECOND // 10, SECOND, 4, "b")),
    ]


def run(capfd: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    assert main(["replay", *map(str, arguments)]) == code
    captured = capfd.readouterr()
    return captured.out if code == 0 else captured.err


def test_a_line_names_its_recording(capfd, tmp_path, two):
    rows = merged(two)
    out = run(capfd, 1, 0, "--archive-dir", tmp_path)
    assert out.splitlines() == [f"{row.recording_id}: {row.payload.decode()}" for row in rows]
    out = run(capfd, 1, 0, "--format", "hex", "--archive-dir", tmp_path)
    assert out.splitlines() == [f"{row.recording_id}: {row.payload.hex()}" for row in rows]
    out = run(capfd, 1, 0, "--format", "raw", "--archive-dir", tmp_path)
    assert out == "".join(row.payload.decode() for row in rows)


def test_json_has_the_recording_and_the_time(capfd, tmp_path, two):
    bare = write_recording(tmp_path, [(0, b"c")], indexed=False, session_id=5)
    out = run(capfd, 0, 1, 2, "--json", "--archive-dir", tmp_path)
    found = [json.loads(line) for line in out.splitlines()]
    rows = {(one["recording_id"], one["position"]): one for one in found}
    assert len(rows) == 9
    for row in two[0] + two[1]:
        one = rows[row.recording_id, row.position]
        assert one["payload"] == row.payload.decode()
        part = row.time_ns - T0
        tenth = f".{part % SECOND * 10 // SECOND}" if part % SECOND else ""
        assert one["record_time"] == f"2023-11-14T22:13:{20 + part // SECOND}{tenth}Z"
    one = rows[2, bare[0].position]
    assert (one["record_time"], one["session_id"]) == (None, 5)


def test_times_and_pace_are_those_of_one_recording(capfd, tmp_path, two):
    arguments = ("--archive-dir", tmp_path, "--last", "1500ms", "--speed", "1000x")
    out = run(capfd, 0, 1, *arguments)
    assert out.splitlines() == ["0: a2", "1: b2", "0: a3", "1: b3"]
    out = run(capfd, 0, 1, "--from", T0 // SECOND + 3, "--archive-dir", tmp_path)
    assert out.splitlines() == ["0: a3", "1: b3"]


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("0", "1", "--position", "0"), 2, "of one recording"),
        (("0", "1", "--length", "64"), 2, "of one recording"),
        (("0", "1", "--follow"), 2, "running archive"),
        (("0", "0"), 1, "named twice"),
        (("0", "9"), 1, "unknown recording"),
    ],
)
def test_what_cannot_be_merged_is_told_in_a_line(capfd, tmp_path, two, arguments, code, why):
    told = run(capfd, *arguments, "--archive-dir", tmp_path, code=code)
    assert why in " ".join(told.split())
    assert "Traceback" not in told


@pytest.mark.parametrize("speed", [(), ("--speed", "1000x")])
def test_one_stream_carries_all_and_names_them(capfd, tmp_path, two, speed):
    wanted = [(row.recording_id, row.payload) for row in merged(two)]
    found: list[tuple[int, bytes]] = []
    with (
        memory_folder() as home,
        archiving(home / "aeron", tmp_path / "other"),
        Aeron(home / "aeron") as aeron,
        aeron.add_subscription(CHANNEL, STREAM_ID) as subscription,
    ):

        def receive() -> None:
            until(lambda: take() >= len(wanted), "all messages")

        def take() -> int:
            found.extend(
                (message.reserved_value, message.data) for message in subscription.poll_messages(16)
            )
            return len(found)

        thread = threading.Thread(target=receive)
        thread.start()
        try:
            target = ("--channel", CHANNEL, "--stream", STREAM_ID, "--aeron-dir", home / "aeron")
            out = run(capfd, 0, 1, "--archive-dir", tmp_path, *target, *speed, "--json")
        finally:
            thread.join(60)
    assert found == wanted
    done = json.loads(out)
    assert (done["recording_ids"], done["messages"]) == ([0, 1], 8)
    assert done["payload_bytes"] == sum(len(payload) for _, payload in wanted)


def test_a_running_archive_merges_too(capfd, tmp_path, two):
    wanted = [f"{row.recording_id}: {row.payload.decode()}" for row in merged(two)]
    with memory_folder() as home, archiving(home / "aeron", tmp_path):
        out = run(capfd, 0, 1, "--aeron-dir", home / "aeron")
    assert out.splitlines() == wanted


@pytest.mark.parametrize("form", [(), ("--json",), ("--speed", "1000x")])
def test_a_range_in_which_nothing_was_recorded_says_so(capfd, tmp_path, two, form):
    late = (T0 + 9 * SECOND) // SECOND
    told = (
        "has no message from 2023-11-14T22:13:29Z until 2023-11-14T22:13:49Z; "
        "it was recorded from 2023-11-14T22:13:20"
    )
    for recordings in ((0,), (0, 1)):
        arguments = ("--from", late, "--until", late + 20, "--archive-dir", tmp_path, *form)
        assert main(["replay", *map(str, (*recordings, *arguments))]) == 0
        captured = capfd.readouterr()
        assert captured.out == ""
        for recording_id in recordings:
            assert f"recording {recording_id} {told}" in captured.err
