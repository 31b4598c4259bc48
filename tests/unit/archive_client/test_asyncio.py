"""The archive client for asyncio, on a transport client for asyncio."""

import asyncio

from live_archive import CHANNEL, archiving
from shared_memory import memory_folder

from aerolog.archive.client import AsyncAeronArchive
from aerolog.transport.client import AsyncAeron


def test_it_connects_on_either_transport_client(tmp_path) -> None:
    async def ask(aeron_dir) -> None:
        options = {"request_channel": CHANNEL, "response_channel": CHANNEL}
        async with await AsyncAeron.connect(aeron_dir) as aeron:
            for client in (aeron, aeron.aeron):
                async with await AsyncAeronArchive.connect(client, **options) as archive:
                    assert archive.aeron is aeron.aeron
                    assert [one async for one in archive.recordings()] == []

    with memory_folder() as home, archiving(home / "aeron", tmp_path / "archive") as server:
        asyncio.run(ask(server.aeron_dir))
