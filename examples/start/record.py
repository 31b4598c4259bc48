"""Publishes a thousand trades as JSON while the archive records them."""

import json
import random

from aerolog.archive.client import AeronArchive, RecordingSignal
from aerolog.transport.client import Aeron

CHANNEL, STREAM = "aeron:ipc", 1001

with Aeron() as aeron, AeronArchive(aeron) as archive:
    chance = random.Random(7)
    with archive.add_recorded_publication(CHANNEL, STREAM) as publication:
        for number in range(1000):
            trade = {"id": number, "symbol": chance.choice("ABC"), "price": chance.randint(90, 110)}
            publication.send(json.dumps(trade).encode())
    # The recording stops when the publication has ended and all of it is on disk.
    stopped = next(archive.signals(timeout=10, kinds=RecordingSignal.STOP))
    print(f"recording {stopped.recording_id} ends at position {stopped.position}")
