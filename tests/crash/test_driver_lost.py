"""A driver that dies under its archive."""

from __future__ import annotations

import pytest
from peer.servers import ServerSpec, start_ours

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.transport.client import Aeron

pytestmark = [pytest.mark.error_log(""), pytest.mark.processes_end]


CHANNEL = "aeron:ipc?term-length=64k"


def test_the_archive_ends_with_the_reason_and_recovers_on_the_next_driver(
    aeron_dir, tmp_path, streams
) -> None:
    properties = {"aeron.driver.timeout": "4000"}
    driver = start_ours(ServerSpec("driver", aeron_dir, properties=properties))
    spec = ServerSpec("archive", aeron_dir, tmp_path / "archive", properties)
    server = start_ours(spec)
    aeron = Aeron(str(aeron_dir), driver_timeout=4)
    archive = AeronArchive(aeron)
    archive.start_recording(CHANNEL, 7)
    publication = aeron.add_exclusive_publication(CHANNEL, 7)
    streams.wait(lambda: archive.list_recording(0), "the recording to begin")
    messages = [streams.message(5, index) for index in range(40)]
    end = [publication.send(message) for message in messages][-1]
    streams.wait(lambda: archive.recording_position(0) == end, "the recording")
    driver.process.kill()
    assert server.process.wait(timeout=60) == 1
    assert f"the media driver in {aeron_dir} is gone" in server.process.log()
    aeron.close()
    # Nothing was written to the catalog: the recording looks as after a crash of the archive.
    with ArchiveFolder(tmp_path / "archive") as folder:
        assert folder.recording(0).entry.descriptor.stop_position == -1
    driver = start_ours(ServerSpec("driver", aeron_dir, properties=properties))
    server = start_ours(spec)
    try:
        with Aeron(str(aeron_dir)) as aeron, AeronArchive(aeron) as archive:
            assert archive.stop_position(0) == end
            assert [m.data for m in archive.read(0)] == messages
    finally:
        codes = [server.process.stop(), driver.process.stop()]
    assert codes == [0, 0]
