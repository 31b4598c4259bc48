"""An archive that goes away and comes back, while somebody follows a recording of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from peer.servers import start
from peer.streams import free_port
from waits import wait_until

from aerolog.archive.client import AeronArchive, LiveLeft

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.interop
HOST = "127.0.0.1"
HISTORY = 3000


class Archive:
    """An archive of its own on a line's driver, which ends and begins again."""

    def __init__(self, make: str, start_server, properties: dict[str, str], tmp_path) -> None:
        self.make = make
        self.control = f"aeron:udp?endpoint={HOST}:{free_port()}"
        self.driver = start_server(make, "driver", properties=properties)
        self.server = start_server(
            make,
            "archive",
            aeron_dir=self.driver.spec.aeron_dir,
            archive_dir=tmp_path / "recorded",
            properties=properties | {"aeron.archive.control.channel": self.control},
        )

    def end(self) -> None:
        """Ours dies at once; the reference's, which would find itself alive, ends in order."""
        if self.make == "ours":
            self.server.process.kill()
        else:
            self.server.process.stop()

    def begin_again(self) -> None:
        """Start once more where it was."""
        self.server = start(self.make, self.server.spec)

    def close(self) -> None:
        """End the one that runs now."""
        if self.server.process.running:
            self.server.process.stop()


@pytest.fixture(params=["reference", "ours"])
def archive(request, start_server, join_properties, tmp_path):
    made = Archive(request.param, start_server, join_properties, tmp_path)
    yield made
    made.close()


@pytest.fixture
def line(archive: Archive, make_line_on: Callable, stream_id: int):
    line = make_line_on(archive.driver, archive.control)
    line.publish()
    line.connect_live()
    line.feeder.feed(HISTORY)
    line.wait_recorded()
    return line


def end_and_begin(line, archive: Archive) -> None:
    """The archive goes while nothing is published, and another publisher extends the recording."""
    position = line.wait_recorded()
    line.feeder.end()
    line.publication.close()
    wait_until(lambda: line.archive.stop_position(line.recording_id) == position, "the stop")
    archive.end()
    line.archive.close()
    archive.begin_again()
    line.archive = AeronArchive(line.aeron)
    line.extend()
    line.connect_live()


def test_while_it_replays(line, archive: Archive, follow) -> None:
    follower = follow(line, message_timeout=5.0)
    follower.until(lambda: follower.receipt.count > 100, "some of the recording")
    archive.end()
    line.archive.close()
    archive.begin_again()
    line.archive = AeronArchive(line.aeron)
    follower.until(lambda: follower.receipt.count == HISTORY, "what is recorded")


def test_while_it_is_live(line, archive: Archive, follow) -> None:
    follower = follow(line, message_timeout=5.0)
    follower.until_live()
    follower.until_received(line.feeder.feed(100))
    end_and_begin(line, archive)
    follower.until_received(line.feeder.feed(500))
    follower.until_live()
    follower.until_received(line.feeder.feed(500))
    assert follower.receipt.count == HISTORY + 1100
    assert LiveLeft in follower.kinds()


def test_when_it_was_gone_unnoticed(line, archive: Archive, follow) -> None:
    """Live, the archive is not needed; when the live stream drops, it is connected to anew."""
    follower = follow(line, message_timeout=5.0)
    follower.until_live()
    line.wait_recorded()
    follower.until_received(HISTORY - 1)
    archive.end()
    line.archive.close()
    follower.until(lambda: follower.stream._engine.link.session is None, "the loss")
    assert follower.stream.is_live
    archive.begin_again()
    line.archive = AeronArchive(line.aeron)
    line.publication.close()
    follower.until(lambda: LiveLeft in follower.kinds(), "the publisher to end")
    line.feeder.end()
    line.extend()
    line.connect_live()
    follower.until_received(line.feeder.feed(500))
    assert follower.receipt.count == HISTORY + 500
