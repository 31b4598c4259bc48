"""Commands whose driver or archive dies under them."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.interop


def test_commands_end_with_an_error_when_the_driver_dies(
    aerolog: Any, start_server: Any, stream_id: int
) -> None:
    server = start_server("ours", "driver")
    waiting = ["--driver-timeout", "4s"]
    subscriber = aerolog("subscribe", "aeron:ipc", stream_id, *waiting, on=server)
    publisher = aerolog(
        "publish", "aeron:ipc", stream_id, "--size", 32, "--rate", 100, *waiting, on=server
    )
    assert subscriber.next_line() == "0" * 32

    server.process.kill()

    for command in (subscriber, publisher):
        assert command.wait() == 1
        assert b"the media driver in" in command.stderr
        assert command.stderr.count(b"\n") == 1


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_commands_end_with_an_error_when_the_archive_dies(
    aerolog: Any, start_server: Any, stream_id: int, implementation: str
) -> None:
    driver = start_server(
        "ours",
        "driver",
        properties={
            "aeron.client.liveness.timeout": "5s",
            "aeron.publication.unblock.timeout": "6s",
        },
    )
    archive = start_server(implementation, "archive", aeron_dir=driver.spec.aeron_dir)
    recorder = aerolog("record", "aeron:ipc", stream_id, on=driver)
    publisher = aerolog("publish", "aeron:ipc", stream_id, on=driver)
    publisher.type(b"one\n")
    recording_id = int(recorder.next_line())
    follower = aerolog("replay", recording_id, "--follow", on=driver)
    assert follower.next_line() == "one"

    archive.process.kill()

    for command in (recorder, follower):
        assert command.wait() == 1
        # Between two requests, or in the middle of one.
        assert re.search(rb"the archive (is gone|is no longer)|from archive is not", command.stderr)
        assert b"Traceback" not in command.stderr
    publisher.process.kill()
