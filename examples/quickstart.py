"""Publish, record and replay a stream, with driver, archive and client in one process."""

from aerolog.archive.client import AeronArchive
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.transport.client import Aeron

with (
    ArchivingMediaDriver("/dev/shm/aeron-quickstart", "quickstart-archive") as server,
    Aeron(server.aeron_dir) as aeron,
    AeronArchive(aeron) as archive,
):
    with archive.add_recorded_publication("aeron:ipc?term-length=64k", 1001) as publication:
        for number in range(1000):
            end = publication.send(f"message {number}".encode())
        recording_id = next(archive.signals(timeout=5)).recording_id  # its start
        position = archive.recording_position_counter(recording_id)
        if position is not None:  # it is while the publication is open
            position.wait(end, timeout=5)
    messages = [bytes(message.data) for message in archive.read(recording_id)]
    print(f"recording {recording_id}: {len(messages)} messages, last {messages[-1]!r}")
