"""Sources that die while they are copied: nothing is lost, and the copy goes on afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from aerolog.archive.files.mark_file import MarkFile

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.interop

MAKES = ["reference", "ours"]


@pytest.fixture(params=MAKES, ids=lambda make: f"from-{make}")
def doomed(request, own_sites):
    """A source that the test may kill."""
    return own_sites.start(request.param, "doomed")


@pytest.fixture(params=MAKES, ids=lambda make: f"to-{make}")
def pair(request, doomed, sites, pair_of):
    return pair_of(doomed, sites.get(request.param, 2))


def kill(pair) -> None:
    """Let the source die, and our clients there with it."""
    pair.source.server.process.kill()


def revive(pair, own_sites, pair_of: Callable[..., object]):
    """The source again, on another driver: its folder, its port."""
    dead = pair.source.server
    if dead.implementation == "reference":  # ours sees that the process is gone
        mark = MarkFile.open(dead.archive_dir)
        pair.wait(lambda: not mark.is_active(), "the dead archive to be known as dead")
    spec = replace(dead.spec, aeron_dir=Path(f"{dead.spec.aeron_dir}-again"))
    own_sites.folders.append(spec.aeron_dir)
    return pair_of(own_sites.open(dead.implementation, spec, pair.source.control), pair.destination)


def test_a_copy_outlives_its_source(pair, frames) -> None:
    source = pair.source.source(pair.stream_id)
    position = source.offer(200)
    replication = pair.replicate(source.recording_id)
    replication.wait_signal("EXTEND")
    (begun,) = replication.signals("REPLICATE")
    copy = begun.recording_id
    pair.wait(
        lambda: pair.destination.archive.recording_position(copy) == position, "all to be copied"
    )
    kill(pair)
    lines = replication.wait_end()
    assert f"STOP recording=destination subscription=subscription position={position}" in lines
    assert pair.destination.archive.stop_position(copy) == position
    left = frames(pair.source.server.archive_dir, source.recording_id, 0, position)
    assert pair.destination.frames(copy) == left


def test_a_long_copy_is_cut_off_and_goes_on(pair, own_sites, pair_of) -> None:
    recording = pair.source.record(pair.stream_id, 20_000)
    # Read in small pieces, so that it takes its time.
    replication = pair.replicate(recording, file_io_max_length=1408)
    replication.wait_signal("EXTEND")
    (begun,) = replication.signals("REPLICATE")
    copy = begun.recording_id
    pair.wait(
        lambda: (pair.destination.archive.recording_position(copy) or 0) > 200_000,
        "the copy to be under way",
    )
    kill(pair)
    lines = replication.wait_end()
    assert not any(line.startswith("SYNC") for line in lines), "it was over before"
    middle = pair.destination.archive.stop_position(copy)
    assert 200_000 < middle < recording.stop

    again = revive(pair, own_sites, pair_of)
    again.check_copied(recording, copy, middle)
    lines = again.replicate(recording, dst_recording_id=copy).wait_end()
    assert lines[1:] == [
        f"EXTEND recording=destination subscription=subscription position={middle}",
        f"SYNC recording=destination subscription=subscription position={recording.stop}",
        "REPLICATE_END recording=destination subscription=none position=-1",
        f"STOP recording=destination subscription=subscription position={recording.stop}",
    ]
    again.check_copied(recording, copy)
