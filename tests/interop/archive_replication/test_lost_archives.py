"""Archives that die while one copies: nothing is lost, and the copy goes on afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aerolog.archive.format.mark_file import ArchiveMarkFile

pytestmark = pytest.mark.interop


def kill(site) -> None:
    """Let an archive die with its driver, and our clients there with it."""
    site.server.process.kill()


def revive(pair, site, own_sites):
    """The archive again, on another driver: its folder, its port."""
    dead = site.server
    if dead.implementation == "reference":  # ours sees that the process is gone
        mark = ArchiveMarkFile.open(dead.archive_dir)
        pair.wait(lambda: not mark.is_active(), "the dead archive to be known as dead")
    spec = replace(dead.spec, aeron_dir=Path(f"{dead.spec.aeron_dir}-again"))
    own_sites.folders.append(spec.aeron_dir)
    return own_sites.open(dead.implementation, spec, site.control)


def begin_long_copy(pair):
    """A recording and its copy, which is under way: it is read in small pieces and takes time."""
    recording = pair.source.record(pair.stream_id, 20_000)
    replication = pair.replicate(recording, file_io_max_length=1408)
    replication.wait_signal("EXTEND")
    (begun,) = replication.signals("REPLICATE")
    pair.wait(
        lambda: (pair.destination.archive.recording_position(begun.recording_id) or 0) > 200_000,
        "the copy to be under way",
    )
    return recording, replication, begun.recording_id


def check_goes_on(pair, recording, copy, middle) -> None:
    """Copy the rest."""
    pair.check_copied(recording, copy, middle)
    # The replay of before may still be there: this one has another session.
    lines = pair.replicate(recording, dst_recording_id=copy, replication_session_id=4713).wait_end()
    assert lines[1:] == [
        f"EXTEND recording=destination subscription=subscription position={middle}",
        f"SYNC recording=destination subscription=subscription position={recording.stop}",
        "REPLICATE_END recording=destination subscription=none position=-1",
        f"STOP recording=destination subscription=subscription position={recording.stop}",
    ]
    pair.check_copied(recording, copy)


def test_a_copy_outlives_its_source(doomed_source, frames) -> None:
    pair = doomed_source
    source = pair.source.source(pair.stream_id)
    position = source.offer(200)
    replication = pair.replicate(source.recording_id)
    replication.wait_signal("EXTEND")
    (begun,) = replication.signals("REPLICATE")
    copy = begun.recording_id
    pair.wait(
        lambda: pair.destination.archive.recording_position(copy) == position, "all to be copied"
    )
    kill(pair.source)
    lines = replication.wait_end()
    assert f"STOP recording=destination subscription=subscription position={position}" in lines
    assert pair.destination.archive.stop_position(copy) == position
    left = frames(pair.source.server.archive_dir, source.recording_id, 0, position)
    assert pair.destination.frames(copy) == left


def test_a_long_copy_is_cut_off_and_goes_on(doomed_source, own_sites, pair_of) -> None:
    pair = doomed_source
    recording, replication, copy = begin_long_copy(pair)
    kill(pair.source)
    lines = replication.wait_end()
    assert not any(line.startswith("SYNC") for line in lines), "it was over before"
    middle = pair.destination.archive.stop_position(copy)
    assert 200_000 < middle < recording.stop
    again = pair_of(revive(pair, pair.source, own_sites), pair.destination)
    check_goes_on(again, recording, copy, middle)


@pytest.mark.parametrize("make", ["reference", "ours"], ids=lambda make: f"from-{make}")
def test_a_destination_that_is_killed_goes_on(make, sites, own_sites, pair_of) -> None:
    pair = pair_of(sites.get(make, 1), own_sites.start("ours", "doomed"))
    recording, _, copy = begin_long_copy(pair)
    kill(pair.destination)
    again = pair_of(pair.source, revive(pair, pair.destination, own_sites))
    middle = again.destination.archive.stop_position(copy)
    assert 200_000 < middle < recording.stop
    check_goes_on(again, recording, copy, middle)
