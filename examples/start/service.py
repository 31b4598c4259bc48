"""A driver and an archive inside your own program, which needs no other process."""

import tempfile
from pathlib import Path

from aerolog.archive.client import AeronArchive
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.transport.client import Aeron

with (
    tempfile.TemporaryDirectory() as folder,
    ArchivingMediaDriver(Path(folder, "aeron"), Path(folder, "archive")) as server,
    Aeron(server.aeron_dir) as aeron,
    AeronArchive(aeron) as archive,
):
    with archive.add_recorded_publication("aeron:ipc?term-length=64k", 7) as publication:
        end = publication.send(b"hello")
        recording_id = next(archive.signals(timeout=10)).recording_id
        position = archive.recording_position_counter(recording_id)
        if position is not None:  # it is while the stream is recorded
            position.wait(end, timeout=10)
    print([message.data for message in archive.read(recording_id)])
