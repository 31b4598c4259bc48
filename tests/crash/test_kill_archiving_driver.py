"""``kill -9`` for driver and archive in one process."""

from __future__ import annotations

import random

import pytest
from peer.servers import ServerSpec, start_ours

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AerologError

pytestmark = [pytest.mark.error_log(""), pytest.mark.processes_end]


CHANNEL = "aeron:ipc?term-length=64k"


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_archiving_driver_loses_no_complete_message(
    aeron_dir, tmp_path, streams, seed: int
) -> None:
    spec = ServerSpec(
        "archiving-driver",
        aeron_dir,
        tmp_path / "archive",
        {"aeron.archive.recording.events.enabled": "false"},
    )
    server = start_ours(spec)
    aeron = Aeron(str(aeron_dir))
    archive = AeronArchive(aeron)
    archive.start_recording(CHANNEL, 7)
    publication = aeron.add_exclusive_publication(CHANNEL, 7)
    streams.wait(lambda: archive.list_recording(0), "the recording to begin")
    counter = archive.recording_position_counter(0)
    assert counter is not None
    publisher = streams.publish(publication, seed)
    target = random.Random(seed).randrange(1, 2_000_000)
    streams.wait(lambda: counter.value >= target, f"the recording to reach {target}")
    server.process.kill()
    seen = counter.value
    publisher.stop()
    aeron.close()
    # At once: a process that is provably gone need not be waited for.
    server = start_ours(spec)
    try:
        with Aeron(str(aeron_dir)) as client, AeronArchive(client) as connected:
            stop = connected.stop_position(0)
            assert stop is not None
            assert stop >= seen >= target
            replayed = [m.data for m in connected.read(0)]
            with pytest.raises(AerologError):
                archive.stop_position(0)
    finally:
        code = server.process.stop()
    assert code == 0
    with ArchiveFolder(tmp_path / "archive") as folder:
        messages = list(folder.recording(0).messages())
    assert [m.payload for m in messages] == replayed
    assert replayed == [streams.message(seed, index) for index in range(len(replayed))]
    whole = sum(position <= stop for position in publisher.positions)
    assert len(replayed) - whole in {0, 1}
