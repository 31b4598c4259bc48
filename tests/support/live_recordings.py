"""Recordings of an archive that runs in the test's process, of which every message is known."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from live_archive import archiving, until
from preservation import content_of, missing
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive
from aerolog.transport.client import Aeron
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from aerolog.transport.client import ExclusivePublication

FRAME = 1056
TERM = SEGMENT = 65536


class Live:
    """An archive that runs, and what is published to it.

    Attributes:
        archive: a session with it.
        aeron: a client of its driver.
        folder: its folder.
        published: what was published and not taken away since: payload by position and recording.
    """

    def __init__(self, archive: AeronArchive, aeron: Aeron, folder: Path) -> None:
        self.archive, self.aeron, self.folder = archive, aeron, folder
        self.published: dict[int, dict[int, bytes]] = {}
        self.number = 0

    def begin(
        self, position: int = 0, extend: int | None = None
    ) -> tuple[int, ExclusivePublication]:
        """Begin a recording at a position, or go on with one there; its id and what it records."""
        channel = ChannelUri.parse("aeron:ipc?term-length=64k").with_position(
            position, initial_term_id=0, term_length=TERM
        )
        known = {one.recording_id for one in self.archive.recordings()}
        publication = self.aeron.add_exclusive_publication(channel, 7)
        source = f"aeron:ipc?session-id={publication.session_id}"
        if extend is not None:
            self.archive.extend_recording(extend, source, 7)
            until(lambda: self.archive.recording_position(extend) == position, "the extension")
            return extend, publication
        self.archive.start_recording(source, 7)
        found: list[int] = []

        def begun() -> bool:
            ids = [one.recording_id for one in self.archive.recordings()]
            found[:] = [one for one in ids if one not in known]
            return bool(found)

        until(begun, "a recording")
        self.published[found[0]] = {}
        return found[0], publication

    def publish(
        self, recording_id: int, publication: ExclusivePublication, segments: float
    ) -> None:
        """Publish so many segments of messages that are all different, until they are recorded."""
        sent: dict[int, bytes] = {}
        end = publication.position + segments * SEGMENT
        while publication.position < end:
            self.number += 1
            payload = self.number.to_bytes(4, "little") + bytes([recording_id + 1]) * 1020
            publication.send(payload, timeout=10)
            sent[publication.position - FRAME] = payload
        end = publication.position
        until(lambda: self.archive.recording_position(recording_id) == end, "the recording")
        self.published[recording_id].update(sent)

    def end(self, recording_id: int, publication: ExclusivePublication) -> None:
        """End a recording."""
        publication.close()
        until(lambda: not self.archive.list_recording(recording_id).is_active, "its end")

    def record(self, position: int, segments: float, extend: int | None = None) -> int:
        """A stopped recording of so many segments, from a position on; its id."""
        recording_id, publication = self.begin(position, extend)
        self.publish(recording_id, publication, segments)
        self.end(recording_id, publication)
        return recording_id

    def cut(self, recording_id: int, keep: Callable[[int], bool]) -> None:
        messages = self.published[recording_id]
        self.published[recording_id] = {at: data for at, data in messages.items() if keep(at)}

    def check(self, moved: dict[int, int] | None = None) -> None:
        until(
            lambda: missing(self.published, content_of(self.folder), moved=moved) == [],
            "all that was not taken away",
        )


@contextmanager
def live_archive(folder: Path, *more: str) -> Iterator[Live]:
    """An archive in a folder, with segments of 64 KiB; further settings as on a command line."""
    with (
        memory_folder() as home,
        archiving(home / "aeron", folder, *more) as server,
        Aeron(server.aeron_dir) as aeron,
        AeronArchive(aeron, request_channel="aeron:ipc", response_channel="aeron:ipc") as archive,
    ):
        yield Live(archive, aeron, folder)
