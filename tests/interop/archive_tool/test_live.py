"""The looking commands on running archives of either kind, beside the reference's tool."""

from __future__ import annotations

import re
from typing import Any

import pytest
from archive_tool_runs import Said, reference_says, we_say
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
_ACTIVITY = re.compile(r"activity: [^)]*|activityTimestamp=-?\d+")


def resting(said: Said) -> Said:
    """Without the sign of life, which moves every second."""
    return said._replace(out=_ACTIVITY.sub("", said.out))


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_a_running_archive(implementation: str, start_server: Any, stream_id: int) -> None:
    server = start_server(implementation, "archiving-driver")
    folder = server.archive_dir
    with Aeron(server.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        archive.start_recording(CHANNEL, stream_id)
        with aeron.add_exclusive_publication(CHANNEL, stream_id) as publication:
            publication.wait_connected(10, writable=True)
            (entry,) = wait_until(
                lambda: list(archive.recordings(stream_id=stream_id)), "the recording"
            )
            for size in (0, 16, 100, 5000):
                publication.send(
                    bytes(range(256)) * 20 if size == 5000 else b"x" * size, timeout=30
                )
            wait_until(
                lambda: archive.recording_position(entry.recording_id) == publication.position,
                "all to be recorded",
            )
            for command in (
                "describe",
                "describe-all",
                "describe 0",
                "dump",
                "count-entries",
                "pid",
            ):
                theirs = reference_says(folder, *command.split())
                assert resting(we_say(folder, *command.split())) == resting(theirs)
                assert (theirs.code, theirs.err) == (0, "")
            theirs = reference_says(folder, "errors")
            assert we_say(folder, "errors") == theirs
            assert theirs.out.count("distinct errors observed") == 2
        assert archive.list_recording(entry.recording_id) is not None
