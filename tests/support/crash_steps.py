"""Steps of a scenario that is going to be crashed, and what a crash may leave in each of them."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from crash_ledger import Allowed, Log, Outcome, Truth

from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.protocol import RecordingSignal
from aerolog.testing.streams import StreamCheckError
from aerolog.transport.errors import ResourceClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from aerolog.archive.client import AeronArchive
    from aerolog.transport.client.publication import ExclusivePublication

TERM: Final = 64 * 1024
MTU: Final = 1408
LOCAL_CONTROL_STREAM_ID: Final = 10
_CHANNEL: Final = f"aeron:ipc?term-length=64k|mtu={MTU}"
_LENGTHS: Final = (1, 40, 200, 1000, 1376, 3000, 6000)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a scenario had come at an operation.

    Attributes:
        step: what was under way.
        allowed: what a crash may leave, by recording id.
        together: of recordings that one request changes, which outcomes go together.
    """

    step: str
    allowed: Allowed
    together: tuple[dict[int, Outcome], ...] = ()


@dataclass(slots=True)
class Stage(ABC):
    """An archive, and what its recordings hold.

    Attributes:
        archive: a session with it.
        random: of contents.
        checksum: of frames, by name.
        truths: by recording id.
        pending: outcomes of the request under way, by recording id.
        step_name: what is under way.
        next_id: of the next recording.
        opened: publications, also those that were closed.
        replication_channel: through which recordings are copied.
        pauses: fewer turns than these are given to others behind each message.
    """

    archive: AeronArchive
    random: Random
    checksum: str | None
    truths: dict[int, Truth] = field(default_factory=dict)
    pending: Allowed = field(default_factory=dict)
    together: tuple[dict[int, Outcome], ...] = ()
    step_name: str = "start"
    next_id: int = 0
    opened: list[ExclusivePublication] = field(default_factory=list)
    replication_channel: str = ""
    pauses: int = 0

    def progress(self) -> Progress:
        """What a crash may leave at this moment."""
        allowed: Allowed = {i: [truth.outcome()] for i, truth in self.truths.items()}
        return Progress(self.step_name, {**allowed, **self.pending}, self.together)

    @contextlib.contextmanager
    def step(self, name: str, pending: Allowed | None = None) -> Iterator[None]:
        """A request is under way, which may be done or not when the crash comes."""
        self.step_name, self.pending = name, pending or {}
        yield
        self.step_name, self.pending, self.together = f"after {name}", {}, ()

    @abstractmethod
    def wait(self, condition: Callable[[], object]) -> None:
        """Return when a condition holds."""

    @abstractmethod
    def turn(self) -> None:
        """Let others work, when a publication has no room."""

    def now_ns(self) -> int:
        """The time of the archive's clock, epoch ns."""
        return time.time_ns()

    def let_time_pass(self) -> None:
        """Let what follows be so much later that its times differ from those before it."""
        self.turn()

    # -- streams ---------------------------------------------------------------------------------

    def open(
        self, stream_id: int, log: Log | None = None, channel: str = ""
    ) -> tuple[ExclusivePublication, Log]:
        """A publication, and the log that it continues or begins."""
        client = self.archive.aeron
        if log is None:
            publication = client.add_exclusive_publication(_CHANNEL, stream_id)
            self.opened.append(publication)
            log = Log(
                mtu_length=publication.mtu,
                initial_term_id=publication.initial_term_id,
                session_id=publication.session_id,
                stream_id=stream_id,
                checksum=checksum_for(self.checksum),
            )
            return publication, log
        channel = channel or continuing(log)
        publication = client.add_exclusive_publication(channel, stream_id)
        self.opened.append(publication)
        log.session_id = publication.session_id
        return publication, log

    def publish(self, publication: ExclusivePublication, log: Log, length: int) -> int:
        """Send messages until the stream is so much longer; returns its position."""
        goal = log.position + length
        while log.position < goal:
            message = self.random.randbytes(self.random.choice(_LENGTHS))
            log.add(message, sent_ns=self.now_ns())
            while (result := publication.offer(message)) <= 0:
                self.turn()
            for _ in range(self.pauses and self.random.randrange(self.pauses)):
                self.turn()
            if result != log.position:
                raise StreamCheckError(f"the publication is at {result}, its log {log.position}")
        return log.position

    # -- steps -----------------------------------------------------------------------------------

    def record(self, stream_id: int, log: Log | None = None) -> tuple[int, ExclusivePublication]:
        """Begin a recording, with nothing in it yet; of a log that goes on, if there is one."""
        recording_id, archive = self.next_id, self.archive
        self.next_id += 1
        with self.step(f"record {recording_id}"):
            channel, published = "aeron:ipc", ""
            if log is not None:
                channel = f"aeron:ipc?session-id={self.random.getrandbits(31)}"
                published = f"{continuing(log)}|{channel.partition('?')[2]}"
            archive.start_recording(channel, stream_id)
            publication, log = self.open(stream_id, log, published)
            truth = Truth(log, log.start_position, channel=channel)
            self.pending = {recording_id: [None, truth.outcome()]}
            self.wait(lambda: archive.recording_position_counter(recording_id))
            self._activate(recording_id, truth)
        return recording_id, publication

    def _activate(self, recording_id: int, truth: Truth) -> None:
        counter = self.archive.recording_position_counter(recording_id)
        assert counter is not None
        last = counter.value

        def floor() -> int:
            nonlocal last
            with contextlib.suppress(ResourceClosedError):  # with its archive it goes in the end
                last = counter.value
            return last

        truth.stop, truth.floor = None, floor
        self.truths[recording_id] = truth

    def grow(self, recording_id: int, publication: ExclusivePublication, length: int) -> None:
        """Send messages to a recording, and wait until it has them."""
        truth = self.truths[recording_id]
        with self.step(f"grow {recording_id}"):
            end = self.publish(publication, truth.log, length)
            self.wait(lambda: truth.floor() >= end)
            truth.log.recorded(end, self.now_ns())

    def stop(self, recording_id: int, publication: ExclusivePublication) -> None:
        """Stop a recording that has everything sent to it."""
        truth, archive = self.truths[recording_id], self.archive
        truth.floor = lambda: truth.log.position
        with self.step(f"stop {recording_id}"):
            assert archive.stop_recording_by_identity(recording_id)
            self.wait(lambda: archive.stop_position(recording_id) is not None)
            publication.close()
        truth.stop = truth.log.position

    def extend(self, recording_id: int, length: int) -> None:
        """Go on with a stopped recording, and stop it again."""
        truth, archive = self.truths[recording_id], self.archive
        stream_id = truth.log.stream_id
        before = truth.outcome()
        with self.step(f"extend {recording_id}"):
            # A session of its own: an earlier stream may still hold what a killed archive has not
            # read.
            channel = f"{continuing(truth.log)}|session-id={self.random.getrandbits(31)}"
            archive.extend_recording(recording_id, channel, stream_id)
            publication, log = self.open(stream_id, truth.log, channel)
            self.pending = {recording_id: [before]}
            self.wait(lambda: archive.recording_position_counter(recording_id))
            self._activate(recording_id, Truth(log, truth.start, channel=truth.channel))
        self.truths[recording_id].detached = truth.detached
        self.grow(recording_id, publication, length)
        self.stop(recording_id, publication)

    # -- what is stored --------------------------------------------------------------------------

    def change(
        self, name: str, recording_id: int, request: Callable[[], object], *steps: Truth
    ) -> None:
        """A request that leads from one state of a recording to others, the last one at its end."""
        outcomes: list[Outcome | None] = [self.truths[recording_id].outcome()]
        outcomes += [truth.outcome() for truth in steps]
        with self.step(f"{name} {recording_id}", {recording_id: outcomes}):
            request()
        self.truths[recording_id] = steps[-1]

    def await_deletion(self, request: Callable[[], object]) -> None:
        """Make a request that removes files, and wait until they are gone."""
        self.archive.poll_signals()
        request()
        self.wait(
            lambda: any(s.signal == RecordingSignal.DELETE for s in self.archive.poll_signals())
        )

    def truncate(self, recording_id: int, position: int) -> None:
        """Cut a stopped recording."""
        truth = self.truths[recording_id]
        after = replace(truth, log=truth.log.cut(position), stop=position)
        request = partial(self.archive.truncate_recording, recording_id, position)
        self.change("truncate", recording_id, partial(self.await_deletion, request), after)

    def detach(self, recording_id: int, start: int) -> None:
        """Take segments from the front."""
        after = replace(self.truths[recording_id], start=start, detached=True)
        request = partial(self.archive.detach_segments, recording_id, start)
        self.change("detach", recording_id, request, after)

    def attach(self, recording_id: int, *starts: int) -> None:
        """Put detached segments back, one after the other."""
        truth = self.truths[recording_id]
        steps = [replace(truth, start=start) for start in starts]
        steps[-1].detached = False
        request = partial(self.archive.attach_segments, recording_id)
        self.change("attach", recording_id, request, *steps)

    def delete_detached(self, recording_id: int) -> None:
        """Remove detached segments."""
        truth = self.truths[recording_id]
        request = partial(self.archive.delete_detached_segments, recording_id)
        after = replace(truth, detached=False)
        with self.step(f"delete detached {recording_id}"):
            self.await_deletion(request)
        self.truths[recording_id] = after

    def purge_segments(self, recording_id: int, start: int) -> None:
        """Remove segments from the front."""
        truth = self.truths[recording_id]
        after = replace(truth, start=start, detached=True)
        request = partial(self.archive.purge_segments, recording_id, start)
        self.change("purge segments", recording_id, partial(self.await_deletion, request), after)
        after.detached = truth.detached  # those of earlier requests stay

    def purge(self, recording_id: int) -> None:
        """Remove a recording."""
        outcomes = [self.truths[recording_id].outcome(), None]
        with self.step(f"purge {recording_id}", {recording_id: outcomes}):
            self.await_deletion(partial(self.archive.purge_recording, recording_id))
        del self.truths[recording_id]

    def update_channel(self, recording_id: int, channel: str) -> None:
        """Give a recording another channel."""
        after = replace(self.truths[recording_id], channel=channel)
        request = partial(self.archive.update_channel, recording_id, channel)
        self.change("update channel", recording_id, request, after)

    def begin_behind(self, recording_id: int) -> tuple[int, ExclusivePublication]:
        """Begin to record a stream that begins where a recording ends."""
        log = self.truths[recording_id].log
        new = Log(
            mtu_length=log.mtu_length,
            initial_term_id=log.initial_term_id,
            stream_id=log.stream_id,
            start_position=log.position,
            checksum=log.checksum,
        )
        new_id, publication = self.record(log.stream_id, new)
        self.grow(new_id, publication, TERM + 9_000)
        return new_id, publication

    def record_behind(self, recording_id: int) -> int:
        """Record a stream that begins where a recording ends, as a recording of its own."""
        new_id, publication = self.begin_behind(recording_id)
        self.stop(new_id, publication)
        return new_id

    def migrate(self, source_id: int, target_id: int) -> None:
        """Move all of a recording to the end or the front of another."""
        source, target = self.truths[source_id], self.truths[target_id]
        appended = source.start == target.stop
        first, second = (target, source) if appended else (source, target)
        merged = replace(
            target, log=first.log.joined(second.log), start=first.start, stop=second.stop
        )
        emptied = replace(source, log=source.log.cut(source.start), stop=source.start)
        before = {source_id: source.outcome(), target_id: target.outcome()}
        after = {source_id: emptied.outcome(), target_id: merged.outcome()}
        self.together = (before, after)
        pending: Allowed = {i: [before[i], after[i]] for i in (source_id, target_id)}
        with self.step(f"migrate {source_id} to {target_id}", pending):
            self.await_deletion(partial(self.archive.migrate_segments, source_id, target_id))
        self.truths[source_id], self.truths[target_id] = emptied, merged

    def replicate(self, source_id: int, target_id: int | None = None) -> int:
        """Copy a stopped recording to a new one, or bring one that exists up to it."""
        source = self.truths[source_id]
        assert source.stop is not None
        if target_id is None:
            target_id, self.next_id = self.next_id, self.next_id + 1
            before: list[Outcome | None] = [None]
            low = source.start
        else:
            old = self.truths[target_id].outcome()
            before, low = [old], max(old.low, source.start)
        log = source.log.replayed(low)
        log.was_copied(low, self.now_ns(), None if None in before else self.truths[target_id].log)
        copied = Outcome(log, source.start, low, source.stop)
        ended: set[RecordingSignal] = set()

        def has_ended() -> bool:
            ended.update(s.signal for s in self.archive.poll_signals())
            return {RecordingSignal.REPLICATE_END, RecordingSignal.STOP} <= ended

        self.archive.poll_signals()
        with self.step(f"replicate {source_id} to {target_id}", {target_id: [*before, copied]}):
            self.archive.replicate(
                source_id,
                "aeron:ipc",
                LOCAL_CONTROL_STREAM_ID,
                dst_recording_id=None if None in before else target_id,
                src_response_channel="aeron:ipc",
                replication_channel=self.replication_channel,
            )
            self.wait(has_ended)
        self.truths[target_id] = Truth(log, source.start, source.stop)
        return target_id


def continuing(log: Log) -> str:
    """Channel of a publication that begins where a log ends."""
    term_id = (log.initial_term_id + log.position // TERM + 2**31) % 2**32 - 2**31
    return (
        f"{_CHANNEL}|init-term-id={log.initial_term_id}|term-id={term_id}"
        f"|term-offset={log.position % TERM}"
    )
