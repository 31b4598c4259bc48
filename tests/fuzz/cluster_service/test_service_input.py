"""Bytes of any kind in the log and on the services' stream: a container reports them and goes on.

What each of them is worth to the reference's container is in tests/cluster/cluster_service.
"""

from __future__ import annotations

import random
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from cluster_echo import EchoService
from cluster_scripted_module import ScriptedModule, message_bytes
from shared_memory import memory_folder

from aerolog.cluster.files import ClusterMarkFile, service_mark_name
from aerolog.cluster.protocol import (
    MESSAGES,
    JoinLog,
    NewLeadershipTermEvent,
    RequestServiceAck,
    ServiceAck,
    ServiceTerminationPosition,
    SessionCloseEvent,
    SessionOpenEvent,
)
from aerolog.cluster.service import ServiceContainer
from aerolog.transport.client import Aeron
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import MediaDriver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS = ("-Daeron.threading.mode=SHARED", "-Daeron.ipc.term.buffer.length=64k")
TYPED = ("io.aeron.exceptions.AeronException", "io.aeron.cluster.client.ClusterException")
#: What a container obeys when it is whole, because it cannot tell a forged one.
OBEYED = (
    JoinLog,
    NewLeadershipTermEvent,
    RequestServiceAck,
    ServiceTerminationPosition,
    SessionCloseEvent,
    SessionOpenEvent,
)
LENGTHS = (0, 1, 7, 8, 9, 15, 31, 32, 33, 39, 40, 43, 44, 56, 200)


class Scene:
    """A container of ours that follows a scripted module."""

    def __init__(
        self, module: ScriptedModule, container: ServiceContainer, service: EchoService, place: Path
    ) -> None:
        self.module = module
        self.container = container
        self.service = service
        self._place = place

    def error_texts(self) -> list[str]:
        with closing(ClusterMarkFile.open(self._place, name=service_mark_name(0))) as mark:
            return [each.text for each in mark.errors()]

    def check(self) -> None:
        """The service still answers, and all that was reported is typed."""
        self.module.check_echo(b"still here")
        assert self.container.is_running
        assert [text for text in self.error_texts() if not text.startswith(TYPED)] == []


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    service = EchoService()
    with (
        memory_folder() as home,
        MediaDriver(home / "driver", properties=Properties.from_command_line(SETTINGS)),
        Aeron(home / "driver") as aeron,
        ScriptedModule(aeron) as module,
        ServiceContainer(
            service, aeron_dir=str(home / "driver"), cluster_dir=str(tmp_path)
        ) as container,
    ):
        assert module.hear(ServiceAck).ack_id == 0
        module.lead()
        yield Scene(module, container, service, tmp_path)


def bent(dice: random.Random) -> Iterator[bytes]:
    """Every message in other versions and schemas, with odd blocks, cut, and of random fields."""
    for made in MESSAGES.values():
        layout = made.LAYOUT
        block = layout.block_length
        for length in LENGTHS:
            body = dice.randbytes(length)
            is_whole = length >= block
            for schema in (101, 0):
                yield message_bytes(layout.template_id, body, block=block, schema=schema)
            if made not in OBEYED or not is_whole:
                for version in (0, 16, 65535):
                    yield message_bytes(layout.template_id, body, block=block, version=version)
            yield message_bytes(layout.template_id, body, block=0xFFFF)
    for template_id in (0, 9, 9999, 0xFFFF):
        yield message_bytes(template_id, dice.randbytes(40))


def test_bent_messages_in_the_log(scene: Scene) -> None:
    for number, data in enumerate(bent(random.Random(23))):
        scene.module.append(data)
        if number % 500 == 0:
            scene.check()
    scene.check()
    assert scene.error_texts()


def test_bent_messages_of_the_module(scene: Scene) -> None:
    for number, data in enumerate(bent(random.Random(29))):
        scene.module.to_services.send(data)
        if number % 500 == 0:
            scene.check()
    scene.check()
    assert scene.error_texts()


def test_random_bytes(scene: Scene) -> None:
    dice = random.Random(31)
    for _ in range(1000):
        data = dice.randbytes(dice.choice(LENGTHS))
        scene.module.append(data)
        scene.module.to_services.send(data)
    scene.module.append(dice.randbytes(scene.module.log.max_message_length))
    scene.module.to_services.send(dice.randbytes(scene.module.to_services.max_message_length))
    scene.check()


@pytest.mark.parametrize("length", [2**31 - 1, 2**31, 2**32 - 1, 2**32 - 60, 200])
def test_lengths_of_texts_beyond_the_message(scene: Scene, length: int) -> None:
    """The bytes behind a short one are those of the messages before, in a log and in a copy."""
    text = length.to_bytes(4, "little") + b"aeron:ipc"
    for template_id, block in ((21, 36), (40, 40), (25, 40)):
        data = message_bytes(template_id, bytes(block) + text, block=block)
        scene.module.append(data)
        scene.module.to_services.send(data)
    scene.check()
    assert all("bytes are left" in text for text in scene.error_texts())
    assert [*scene.service.cluster.sessions] == [1]


@pytest.mark.parametrize("block", [24, 25, 60, 0xFFFF])
def test_messages_whose_block_is_longer_than_they_are(scene: Scene, block: int) -> None:
    """The service gets what is left of them, which is nothing."""
    before = scene.service.count
    for length in range(24, 60):
        scene.module.append(
            message_bytes(1, (1).to_bytes(16, "little") + bytes(length), block=block)
        )
    scene.check()
    assert scene.service.count == before + 1
