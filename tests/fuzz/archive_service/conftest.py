"""Rigs (see ``archive_rig``) whose archive has something to lose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from archive_rig import Rig, make_rig

from aerolog.archive import protocol as ap

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["make_rig"]  # a fixture

STOPPED_STREAM = 71
LIVE_STREAM = 72


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    """A rig with a stopped recording, 0, and a live one, 1."""
    rig = make_rig(
        max_concurrent_recordings=10_000,
        max_concurrent_replays=10_000,
        connect_timeout=0.5,
        replication_channel="aeron:ipc",
    )
    rig.connect()
    rig.start(STOPPED_STREAM)
    stopped = rig.publish(STOPPED_STREAM, *[bytes(1000)] * 150)
    stopped.close()
    rig.wait(lambda: rig.ask(ap.StopPositionRequest, recording_id=0) > 0, "the recording to stop")
    rig.ask(ap.StopRecordingRequest, stream_id=STOPPED_STREAM, channel="aeron:ipc?term-length=64k")
    rig.start(LIVE_STREAM)
    rig.live = rig.publish(LIVE_STREAM, b"live")
    return rig
