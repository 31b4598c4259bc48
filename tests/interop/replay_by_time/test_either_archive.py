"""Replay by time of an archive of either make: the reference's keeps no times but of the ends."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from live_archive import until

from aerolog.archive.client import AeronArchive, TimedReplay
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Callable

CHANNEL = "aeron:ipc?term-length=64k"
STREAM_ID = 4711
COUNT = 20
PATIENCE_S = 60.0
AEROLOG = (sys.executable, "-m", "aerolog.tools.main")


def recorded(aeron: Aeron, archive: AeronArchive) -> int:
    """A stopped recording of COUNT messages."""
    with aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
        channel = f"{CHANNEL}|session-id={publication.session_id}"
        archive.start_recording(channel, STREAM_ID)
        publication.wait_connected(PATIENCE_S, writable=True)
        for number in range(COUNT):
            until(sender(publication, b"message %d" % number), patience_s=PATIENCE_S)
        found: list[int] = []

        def is_recorded() -> bool:
            found[:] = [
                one.recording_id
                for one in archive.recordings(stream_id=STREAM_ID)
                if one.session_id == publication.session_id
            ]
            return bool(found) and (archive.max_recorded_position(found[0]) == publication.position)

        until(is_recorded, patience_s=PATIENCE_S)
        archive.stop_recording(channel, STREAM_ID)
    until(lambda: archive.stop_position(found[0]) is not None, patience_s=PATIENCE_S)
    return found[0]


def sender(publication: Any, payload: bytes) -> Callable[[], bool]:
    return lambda: publication.offer(payload) > 0


def aerolog(server: Any, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*AEROLOG, "replay", *map(str, arguments)]
    return subprocess.run(
        [*command, "--aeron-dir", str(server.spec.aeron_dir)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_a_range_of_times_leaves_nothing_out_and_says_where_times_are_rough(
    any_archive: Any,
) -> None:
    ours = any_archive.implementation == "ours"
    before_ns = time.time_ns()
    with Aeron(any_archive.spec.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        recording_id = recorded(aeron, archive)
        if ours:
            until(lambda: archive.time_index(recording_id).entries > 0, patience_s=PATIENCE_S)
        with TimedReplay(archive, recording_id, before_ns - 10**9, speed=None) as replay:
            payloads = [message.payload for message in replay]
            has_index = replay.has_index

    assert payloads == [b"message %d" % number for number in range(COUNT)]
    assert has_index == ours

    lines = "".join(f"message {number}\n" for number in range(COUNT))
    shown = aerolog(any_archive, recording_id, "--last", "1h", "--speed", "1000x")
    assert (shown.returncode, shown.stdout) == (0, lines)
    assert ("no time index" in shown.stderr) != ours
    none = aerolog(any_archive, recording_id, "--until", f"{before_ns - 3600 * 10**9}ns")
    assert (none.returncode, none.stdout) == (0, "")


def test_a_pace_onto_a_channel_needs_an_index(java_archive: Any) -> None:
    with Aeron(java_archive.spec.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        recording_id = recorded(aeron, archive)
    target = ("--channel", "aeron:ipc", "--stream", 4712)
    refused = aerolog(java_archive, recording_id, *target, "--speed", "1x")

    assert refused.returncode == 1
    assert "has no time index" in refused.stderr
    assert "Traceback" not in refused.stderr
