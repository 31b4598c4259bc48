"""Requests to an archive, drawn at random: what is right, what is nearly right, and what is not.

What is drawn follows from the seed and from what the archive has answered, so two archives that
answer alike are asked alike. Positions inside a frame are left out: the reference refuses to
truncate there, but has changed the stop position (spec archive-protocol 23).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from archive_storage.teller import FRAME, SEGMENT, TERM

from aerolog.archive import protocol as ap

if TYPE_CHECKING:
    from random import Random

    from archive_storage.teller import Live, Teller

STEPS = 40
NOBODY = (-1, 999, 2**63 - 1, -(2**63))
DELETE = ap.RecordingSignal.DELETE


@dataclass
class Known:
    """A recording of the script: its stream and what the catalog says of it."""

    recording_id: int
    stream_id: int
    start: int
    stop: int


class Script:
    """Draws one request after the other."""

    def __init__(self, teller: Teller, dice: Random) -> None:
        self.teller = teller
        self.dice = dice
        self.known: list[Known] = []
        self.live: list[Live] = []
        self.streams = iter(range(100, 1000))

    def some(self) -> Known:
        """A recording that there is, or was."""
        return self.dice.choice(self.known)

    def some_id(self) -> int:
        """The id of one, seldom one that never was."""
        return self.some().recording_id if self.dice.random() < 0.9 else self.dice.choice(NOBODY)

    def position(self, of: Known) -> int:
        """A position, mostly one that a request can name."""
        edges = (of.start, of.stop, -1, of.start + FRAME, of.stop + FRAME, of.stop - FRAME)
        unit = self.dice.choice((FRAME, TERM, SEGMENT, SEGMENT))
        within = self.dice.randrange(of.start, max(of.stop, of.start) + 1) // unit * unit
        return self.dice.choice((within, within, within, self.dice.choice(edges)))

    def look(self, known: Known) -> None:
        """Write down the catalog's entry, and learn its positions."""
        for found in self.teller.describe(known.recording_id):
            known.start, known.stop = found.start_position, found.stop_position

    # -- steps ------------------------------------------------------------------------------------

    def record(self) -> None:
        stream_id = next(self.streams)
        position = self.dice.choice((0, 0, TERM + 2 * FRAME, 3 * SEGMENT))
        live = self.teller.start(stream_id, position=position)
        self.known.append(Known(live.recording_id, stream_id, position, position))
        self._publish(live)

    def _publish(self, live: Live) -> None:
        live.publish(self.dice.randrange(0, 3 * SEGMENT // FRAME) * FRAME)
        if len(self.live) < 2 and self.dice.random() < 0.3:
            self.live.append(live)
        else:
            live.stop()
        self.teller.tell(f"recorded {live.recording_id}")
        self.look(next(k for k in self.known if k.recording_id == live.recording_id))

    def stop(self) -> None:
        if self.live:
            live = self.live.pop(self.dice.randrange(len(self.live)))
            live.stop()
            self.teller.tell(f"stopped {live.recording_id}")
            self.look(next(k for k in self.known if k.recording_id == live.recording_id))
        else:
            self.ask(ap.StopRecordingRequest, stream_id=5, channel="aeron:ipc")

    def extend(self) -> None:
        known = self.some()
        self.look(known)
        if known.stop == -1 or self.dice.random() < 0.2:
            self.ask(
                ap.ExtendRecordingRequest,
                recording_id=self.some_id() if known.stop != -1 else known.recording_id,
                stream_id=known.stream_id + self.dice.choice((1, 5)),
                source_location=ap.SourceLocation.LOCAL,
                channel="aeron:ipc",
            )
        elif self.exists(known):
            live = self.teller.start(
                known.stream_id, position=known.stop, extends=known.recording_id
            )
            self._publish(live)

    def exists(self, known: Known) -> bool:
        return bool(self.teller.describe(known.recording_id))

    def truncate(self) -> None:
        self.change(ap.TruncateRecordingRequest, "position")

    def purge_segments(self) -> None:
        self.change(ap.PurgeSegmentsRequest, "new_start_position")

    def detach(self) -> None:
        self.change(ap.DetachSegmentsRequest, "new_start_position", until=None)

    def change(
        self,
        request: type[ap.Message],
        name: str,
        until: ap.RecordingSignal | None = DELETE,
    ) -> None:
        known = self.some()
        self.ask(
            request,
            until=until,
            recording_id=known.recording_id,
            **{name: self.position(known)},
        )
        self.look(known)

    def attach(self) -> None:
        self.ask(ap.AttachSegmentsRequest, recording_id=self.some_id())

    def delete_detached(self) -> None:
        self.ask(ap.DeleteDetachedSegmentsRequest, until=DELETE, recording_id=self.some_id())

    def purge(self) -> None:
        if len(self.known) > 2:
            self.ask(ap.PurgeRecordingRequest, until=DELETE, recording_id=self.some_id())

    def replay(self) -> None:
        known = self.some()
        self.look(known)
        if known.stop in {-1, known.start}:  # it might not end (spec archive-protocol 23)
            return
        length = self.dice.choice((FRAME, TERM, SEGMENT, 2**63 - 1, -1))
        stream_id = next(self.streams)
        self.teller.replayed(known.recording_id, self.position(known), length, stream_id)

    def query(self) -> None:
        request = self.dice.choice(
            (
                ap.StartPositionRequest,
                ap.StopPositionRequest,
                ap.RecordingPositionRequest,
                ap.MaxRecordedPositionRequest,
            )
        )
        self.ask(request, recording_id=self.some_id())

    def list(self) -> None:
        first = self.dice.choice((0, 1, self.some().recording_id, 999, -1))
        self.teller.list(
            ap.ListRecordingsRequest, self.dice.choice((1, 3, 100)), from_recording_id=first
        )

    def bad(self) -> None:
        channel = self.dice.choice(("aeron:ipc", "", "aeron:", "aeron:udp", "aeron:ipc?mtu=1"))
        request, values = self.dice.choice(
            (
                (ap.StartRecordingRequest, {"source_location": ap.SourceLocation.LOCAL}),
                (ap.StopRecordingRequest, {}),
            )
        )
        if request is ap.StartRecordingRequest and channel == "aeron:ipc":
            return
        self.ask(request, stream_id=next(self.streams), channel=channel, **values)

    def ask(self, request: type[ap.Message], **values: Any) -> None:
        self.teller.ask(request, **values)

    def run(self) -> None:
        self.record()
        steps = (
            self.record, self.record, self.extend, self.extend, self.stop, self.truncate,
            self.truncate, self.purge_segments, self.purge_segments, self.detach, self.attach,
            self.delete_detached, self.purge, self.replay, self.replay, self.query, self.list,
            self.bad,
        )  # fmt: skip
        for _ in range(STEPS):
            self.dice.choice(steps)()
        while self.live:
            self.stop()
        for known in self.known:
            self.look(known)
        self.teller.folder()


def draw_requests(teller: Teller, dice: Random) -> None:
    """Ask an archive at random, and write down what it says."""
    Script(teller, dice).run()
