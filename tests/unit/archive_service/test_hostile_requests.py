"""Captured requests with bytes changed at random: the archive answers or drops, and lives on."""

from __future__ import annotations

import random
import struct

import pytest
from golden_data import control_messages

from aerolog.archive import protocol as ap

MESSAGES_PER_SEED = 150
WITHOUT_SESSION = {2, 58}


def captured_requests() -> list[bytes]:
    messages = [m for m in control_messages() if m["direction"] == "client->archive"]
    return [bytes.fromhex(m["hex"]) for m in messages]


def mutated(source: random.Random, message: bytes, session_id: int) -> bytes:
    """The message in our session, with some of its bytes, or its length, changed."""
    data = bytearray(message)
    (template_id,) = struct.unpack_from("<H", data, 2)
    if len(data) >= 16 and template_id not in WITHOUT_SESSION:
        struct.pack_into("<q", data, 8, session_id)
    for _ in range(source.choice((0, 1, 1, 2, 8))):
        at = source.randrange(16, len(data)) if len(data) > 16 else source.randrange(len(data))
        data[at] = source.choice((0, 0xFF, 0x7F, 0x80, source.randrange(256)))
    if source.random() < 0.2:
        del data[source.randrange(1, len(data) + 1) :]
    return bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_mutated_requests_do_not_stop_the_archive(make_rig, seed: int) -> None:
    source = random.Random(seed)
    requests = [m for m in captured_requests() if struct.unpack_from("<H", m, 2)[0] != 3]
    rig = make_rig(max_concurrent_recordings=1000)
    rig.connect()
    rig.ask(ap.ArchiveIdRequest)
    for _ in range(MESSAGES_PER_SEED):
        data = mutated(source, source.choice(requests), rig.session_id)
        if not data or struct.unpack_from("<H", data.ljust(4, b"\0"), 2)[0] == 3:
            continue
        rig.send(data)
        rig.turn()
        rig.aeron.do_work()
        rig.poll()
    rig.connect()
    assert rig.ask(ap.ArchiveIdRequest) == 7
    # And it still does what it is for.
    rig.start(31_337)
    rig.publish(31_337, b"still", b"recording")
