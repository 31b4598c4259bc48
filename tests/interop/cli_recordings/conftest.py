"""Runs commands in this process, which is quicker, against archives of either implementation."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from waits import wait_until

from aerolog.archive.client import AeronArchive
from aerolog.tools.main import main
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Iterator

DEADLINE_S = 60.0
CHANNEL = "aeron:ipc?term-length=64k"
SEGMENT = 128 * 1024
PAYLOAD = 992  # a frame of 1024 bytes
#: Commands that ask first who needs the data, in the archive's folder.
DELETING = {"truncate", "purge", "purge-segments", "detach", "delete-detached", "migrate"}


@dataclass
class Ran:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Its output as JSON; it must have ended with 0."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    def json_lines(self) -> list[Any]:
        """Its output as JSON, a document a line; it must have ended with 0."""
        assert self.code == 0, self.err
        return [json.loads(line) for line in self.out.splitlines()]

    def text(self) -> str:
        """Its output; it must have ended with 0."""
        assert self.code == 0, self.err
        return self.out


Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """``run(server, "recordings", "purge", 7)`` runs one command on a server's driver."""

    def one(server: Any, *arguments: object) -> Ran:
        capfd.readouterr()
        where = ["--aeron-dir", server.aeron_dir]
        if arguments[0] == "recordings" and arguments[1] in DELETING:
            where += ["--archive-dir", str(server.archive_dir)]  # the reference's does not tell it
        code = main([*map(str, arguments), *where])
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return one


class Recordist:
    """Records numbered messages in an archive, to have something to operate on."""

    def __init__(self, server: Any) -> None:
        self.aeron = Aeron(server.aeron_dir)
        self.archive = AeronArchive(self.aeron)

    def record(self, stream_id: int, messages: int, channel: str = CHANNEL) -> int:
        """A stopped recording of messages, a kibibyte each; its id."""
        known = [one.recording_id for one in self.archive.recordings(stream_id=stream_id)]
        with self.archive.add_recorded_exclusive_publication(channel, stream_id) as publication:
            self.send(publication, 0, messages)
            recording_id = self.find(stream_id, known)
            end = publication.position
            wait_until(
                lambda: (self.archive.recording_position(recording_id) or 0) >= end, "recorded"
            )
        wait_until(lambda: self.archive.stop_position(recording_id) == end, "stopped")
        return recording_id

    def find(self, stream_id: int, known: list[int]) -> int:
        """The recording that a stream has got and had not."""

        def new() -> list[int]:
            found = [one.recording_id for one in self.archive.recordings(stream_id=stream_id)]
            return [one for one in found if one not in known]

        found: list[int] = wait_until(new, "a recording")
        return found[0]

    @staticmethod
    def send(publication: Any, first: int, messages: int) -> int:
        """Sends messages that hold their number; the position reached."""
        position = 0
        for number in range(first, first + messages):
            position = publication.send(b"%0*d" % (PAYLOAD, number), timeout=DEADLINE_S)
        return position

    def numbers(self, recording_id: int) -> list[int]:
        """The numbers of the messages that a recording has."""
        return [int(bytes(message.data)) for message in self.archive.read(recording_id)]

    def close(self) -> None:
        self.archive.close()
        self.aeron.close()


@pytest.fixture
def recordist(any_archive: Any) -> Iterator[Recordist]:
    """Records in the archive under test."""
    one = Recordist(any_archive)
    yield one
    one.close()


def segments(server: Any, recording_id: int) -> list[int]:
    """Base positions of the segment files that a recording has in its archive's folder."""
    names = [path.stem for path in server.archive_dir.glob(f"{recording_id}-*.rec")]
    return sorted(int(name.partition("-")[2]) for name in names)
