"""Publish, record and replay a stream, with driver, archive and client in one process."""

from aerolog.archive.client import AeronArchive
from aerolog.archive.service import ArchivingMediaDriver
from aerolog.transport.client import Aeron

with (
    ArchivingMediaDriver("/dev/shm/aeron-quickstart", "quickstart-archive") as server,
    Aeron(server.aeron_dir) as aeron,
    AeronArchive(aeron) as archive,
):
    with archive.add_recorded_publication("aeron:ipc?term-length=64k", 10) as publication:
        for number in range(1000):
            publication.send(f"message {number}".encode())
    recording = next(archive.recordings())
    messages = [bytes(message.data) for message in archive.read(recording.recording_id)]
    print(f"{recording}\n{len(messages)} messages, the last is {messages[-1]!r}")
