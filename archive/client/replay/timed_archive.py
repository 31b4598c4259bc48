"""The messages of a running archive's recording with their times."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from aerolog.archive.client import request
from aerolog.archive.client.operations.replay_operations import ReplayOperations
from aerolog.archive.client.options import REPLAY_STREAM_ID
from aerolog.archive.client.replay.replay_request import ReplayChannel, ReplayParams, replay_length
from aerolog.archive.client.replay.time_range import TimedRange, notes_of
from aerolog.archive.client.replay.timed_message import first_positions, timed
from aerolog.archive.client.replay.timed_source import TimedSource
from aerolog.archive.client.replay.timeline import Timeline, find_bounds, find_time
from aerolog.archive.time_index import SOURCE_DESCRIPTOR
from aerolog.transport.errors import (
    AeronTimeoutError,
    ArchiveError,
    ArchiveErrorCode,
    ConfigurationError,
)

if TYPE_CHECKING:
    from aerolog.archive.client.caller import Parts, Steps
    from aerolog.archive.client.client_base import ArchiveClientBase
    from aerolog.archive.client.replay.time_range import Wanted
    from aerolog.archive.client.replay.timed_message import TimedMessage
    from aerolog.transport.client import Image, Subscription


def find_range(archive: ArchiveClientBase, wanted: Wanted) -> Steps[TimedRange]:
    """The part of a running archive's recording that is wanted.

    Raises:
        ArchiveError: there is no such recording.
        ConfigurationError: a position outside the recording.
    """
    recording_id = wanted.recording_id
    ask = archive._ask  # noqa: SLF001 - replays are of the client
    descriptor = yield from ask(request.list_recording(recording_id))
    if descriptor is None:
        raise ArchiveError(
            ArchiveErrorCode.UNKNOWN_RECORDING, f"unknown recording id: {recording_id}"
        )
    recorded = yield from ask(request.ask_position("max recorded position", recording_id))
    live = yield from ask(request.ask_position("recording position", recording_id))
    recorded = descriptor.start_position if recorded is None else recorded
    if wanted.last_ns is not None:
        found = yield from find_time(archive, descriptor, recorded)
        wanted = wanted.before(found if live is None else time.time_ns())
    bounds = yield from find_bounds(archive, descriptor, wanted)
    return TimedRange.of(
        descriptor,
        wanted,
        recorded,
        bounds,
        follow=wanted.follow and live is not None,
    )


class ArchiveSource(TimedSource):
    """Messages of a running archive's recording, over a replay of its own."""

    def __init__(self, archive: ArchiveClientBase, wanted: Wanted, timeout: float | None) -> None:
        super().__init__()
        if not isinstance(archive, ReplayOperations):
            raise ConfigurationError(
                f"a replay by time is of an archive's client or folder, not of {archive!r}"
            )
        self._archive: ReplayOperations = archive
        self._wanted = wanted
        self._timeout = timeout
        self._subscription: Subscription | None = None

    def parts(self) -> Parts[TimedMessage]:
        """Lists of messages, or how much was done.

        Raises:
            ArchiveError: there is no such recording, or the archive could not go on.
            ConfigurationError: a position outside the recording.
            AeronTimeoutError: the replay stalled or was ended by somebody.
        """
        steps = self._parts()
        lock = self._archive._lock  # noqa: SLF001 - one thread at a time gets through
        try:
            while True:
                with lock:
                    part = next(steps, None)
                if part is None:
                    return
                yield part
        finally:
            with lock:
                steps.close()

    def turn(self) -> None:
        """Keep up the session: an archive closes those that do not read."""
        archive = self._archive
        with archive._lock:  # noqa: SLF001
            archive._turn()  # noqa: SLF001
            if not archive.closed:
                archive._usable().pump()  # noqa: SLF001

    def close(self) -> None:
        """End the replay."""
        if self._subscription is not None:
            self._subscription.close()

    def _parts(self) -> Parts[TimedMessage]:
        archive = self._archive
        self.range = part = yield from find_range(archive, self._wanted)
        timeline = Timeline(archive, part.descriptor, part.start_position)
        yield from timeline.open()
        self.notes = notes_of(timeline.index, part.descriptor)
        self.has_index = timeline.index.source != SOURCE_DESCRIPTOR
        yield 1
        if part.length == 0:
            return
        length = None if part.read_until is None else part.read_until - part.start_position
        params = ReplayParams(
            part.recording_id, part.start_position, replay_length(length, follow=True)
        )
        images: list[Image] = []
        subscribe = partial(
            archive.aeron.add_subscription_async,
            stream_id=REPLAY_STREAM_ID,
            on_image=images.append,
        )
        wanted = ReplayChannel(archive.options.default_replay_channel)
        replayed = archive._replayed(params, wanted, subscribe, REPLAY_STREAM_ID)  # noqa: SLF001
        self._subscription = subscription = yield from replayed
        with subscription:
            yield from self._follow(subscription, images, timeline, part)

    def _follow(
        self,
        subscription: Subscription,
        images: list[Image],
        timeline: Timeline,
        part: TimedRange,
    ) -> Parts[TimedMessage]:
        archive = self._archive
        correlation_id = archive.last_correlation_id
        until = part.read_until
        deadline = archive._deadline_ns(self._timeout)  # noqa: SLF001
        while True:
            # Looked at before the poll, so that nothing is left.
            ended = bool(images) and (images[0].closed or images[0].is_end_of_stream)
            rows = subscription.poll_messages(self.part)
            archive._usable().pump()  # noqa: SLF001
            if rows:
                kept, over = yield from self._timed(rows, timeline, part)
                yield kept
                if over or (until is not None and rows[-1].position >= until):
                    return
                deadline = archive._deadline_ns(self._timeout)  # noqa: SLF001
            elif until is not None and _reached(images, part) >= until:
                return  # padding was the last of it
            elif ended or (until is not None and archive._is_late(deadline)):  # noqa: SLF001
                break
            elif until is None and part.is_past(time.time_ns()):
                until = yield from self._recorded(part)
            else:
                yield 0
        self._check_end(part, images, correlation_id)

    def _recorded(self, part: TimedRange) -> Steps[int]:
        """How far the recording is."""
        call = request.ask_position("max recorded position", part.recording_id)
        recorded = yield from self._archive._ask(call)  # noqa: SLF001
        return part.start_position if recorded is None else recorded

    def _timed(
        self, rows: list[Any], timeline: Timeline, part: TimedRange
    ) -> Steps[tuple[list[TimedMessage], bool]]:
        descriptor = part.descriptor
        positions = first_positions(rows, descriptor.initial_term_id, descriptor.term_buffer_length)
        times = yield from timeline.times(positions)
        messages = timed(
            rows, times, descriptor.recording_id, descriptor.session_id, descriptor.stream_id
        )
        return part.kept(messages, positions, timeline.index)

    def _check_end(self, part: TimedRange, images: list[Image], correlation_id: int) -> None:
        """Raises when a replay ended before its range did.

        A length of one's own may end within a frame: then the last whole frame is the end.
        """
        session = self._archive._usable()  # noqa: SLF001
        session.pump()
        error = session.take_error(correlation_id)
        if error is not None:
            raise error
        reached = _reached(images, part)
        end = part.end_position
        if end is not None and part.ends_with_recording and reached < end:
            raise AeronTimeoutError(
                f"replay of recording {part.recording_id} ended at {reached}, before {end}"
            )


def _reached(images: list[Image], part: TimedRange) -> int:
    """Up to where a replay has been read."""
    return images[0].position if images else part.start_position
