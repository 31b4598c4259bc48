"""Reads a stream from the beginning of its recording, then live, each message once and in order."""

from aerolog.archive.client import FROM_START, AeronArchive, PersistentSubscription
from aerolog.transport.client import Aeron

CHANNEL, STREAM = "aeron:ipc", 1001

with Aeron() as aeron, AeronArchive(aeron) as archive:
    publication = archive.add_recorded_exclusive_publication(CHANNEL, STREAM)
    for number in range(100):
        publication.send(f"recorded {number}".encode())
    started = next(archive.signals(timeout=10))
    with PersistentSubscription(
        aeron,
        recording_id=started.recording_id,
        start_position=FROM_START,
        live_channel=CHANNEL,
        live_stream_id=STREAM,
    ) as stream:
        messages = stream.messages(timeout=10)
        recorded = [next(messages) for _ in range(100)]
        while not stream.is_live:
            stream.do_work()
        publication.send(b"the first live one")
        print(recorded[-1].data.decode(), "then", next(messages).data.decode())
    publication.close()
