"""The conductor's view of a recording and of the subscription that it comes from."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.archive.protocol import RecordingSignal
from aerolog.archive.service.conductor.refusals import java_text
from aerolog.archive.service.recorder.recording_writer import RELEASED
from aerolog.transport.client.registration import is_settled
from aerolog.transport.errors import (
    ArchiveError,
    ArchiveErrorCode,
    ResourceClosedError,
    StorageSpaceError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.recorder.recording_writer import RecordingWriter
    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.client.image import Image
    from aerolog.transport.client.registration import RegistrationFuture as Future
    from aerolog.transport.client.subscription import Subscription

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(slots=True, eq=False)
class RecordingSubscription:
    """A subscription through which the archive records.

    Attributes:
        key: stream id and the channel parameters that distinguish recorded streams.
        original_channel: the channel as the client sent it.
        stripped_channel: the channel as the catalog keeps it, without parameters for the transport.
        extends: id of the recording that images continue, None when each gets a new one.
        is_listed: whether it was not stopped yet, nor one of its recordings by itself.
        takes_images: whether new images are recorded.
        has_recorded: whether an image of it was ever recorded.
        references: one while it is listed, and one for each session.
        sessions: the sessions of images that are being recorded.
        gone: settled when the driver has removed the closed subscription.
    """

    key: str
    stream_id: int
    original_channel: str
    stripped_channel: str
    auto_stop: bool
    extends: int | None
    control: ControlSession
    correlation_id: int
    subscription: Subscription | None = None
    is_listed: bool = True
    takes_images: bool = True
    has_recorded: bool = False
    references: int = 1
    sessions: list[RecordingSession] = field(default_factory=list)
    gone: Future[None] | None = None

    @property
    def subscription_id(self) -> int:
        """Registration id of the subscription."""
        assert self.subscription is not None
        return self.subscription.registration_id

    @property
    def channel(self) -> str:
        """Channel of the subscription, with the spy prefix when it is a spy."""
        assert self.subscription is not None
        return self.subscription.channel


@dataclass(slots=True, eq=False)
class RecordingSession:
    """An image that is being recorded.

    Attributes:
        stop_reason: what stopped it; empty when its stream ended.
    """

    recording_id: int
    source: RecordingSubscription
    counter: Counter
    writer: RecordingWriter
    stop_reason: str = ""

    def stop(self, reason: str) -> None:
        """Make the recorder end this recording, after what was published so far.

        Only the first reason is kept.
        """
        self.stop_reason = self.stop_reason or reason
        self.writer.abort()

    @property
    def image(self) -> Image:
        """The recorded image."""
        return self.writer.image

    @property
    def position(self) -> int:
        """Recorded position, valid as long as the session is active."""
        return self.writer.recorded_position

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will be recorded."""
        return self.writer.state == RELEASED


@dataclass(frozen=True, slots=True, eq=False)
class RecordingEnd:
    """The end of a recording, which is in the catalog already.

    Attributes:
        position: the stop position.
        error: the error that ended it, None after a regular end.
        freed: settled when the driver has freed the position counter.
    """

    session: RecordingSession
    position: int
    error: ArchiveError | None
    freed: Future[None] | None

    def announce(self) -> None:
        """Tell the client that started the recording."""
        source = self.session.source
        if self.error is not None:
            source.control.send_error(
                source.correlation_id, self.error.code_value, self.error.message
            )
        source.control.send_signal(
            source.correlation_id,
            self.session.recording_id,
            source.subscription_id,
            self.position,
            RecordingSignal.STOP,
        )


@dataclass(slots=True, eq=False)
class Stop:
    """A stop of recordings that is under way.

    Its answer is sent when its effect is visible: the stop positions are in the catalog, and the
    driver has freed the position counters and removed the subscription if nothing more uses it.

    Attributes:
        control: the session that asked for it.
        source: the subscription whose recordings stop.
        session: the only recording that stops; None for all of the subscription.
        answer: called when the effect is visible, before the signals of these ends.
        seen: settled when the archive knows of all images that the driver had when the stop was
            asked for; None when the recordings have been stopped.
    """

    control: ControlSession
    source: RecordingSubscription
    session: RecordingSession | None
    answer: Callable[[], object]
    seen: Future[int] | None

    def covers(self, session: RecordingSession) -> bool:
        """Return whether this stops a recording."""
        return self.session is session if self.session else self.source is session.source

    def is_over(self, ends: list[RecordingEnd]) -> bool:
        """Return whether the effect is visible.

        Args:
            ends: the ends that are not announced yet.
        """
        running = any(self.covers(session) for session in self.source.sessions)
        freed = all(is_settled(end.freed) for end in ends if self.covers(end.session))
        is_in_use = self.session is not None and self.source.references > 0
        gone = is_in_use or (self.source.references <= 0 and is_settled(self.source.gone))
        return self.seen is None and not running and freed and gone


def end_of(image: Image) -> str:
    """Return how an image ended that was not stopped, in the words of the event log."""
    ended, closed = (str(value).lower() for value in (image.is_end_of_stream, image.closed))
    return f"image.isEndOfStream={ended}, image.isClosed={closed}"


def check_continues(descriptor: RecordingDescriptor, image: Image) -> None:
    """Check that an image continues a stopped recording, with the same terms.

    Spec archive-protocol 9.3.

    Raises:
        ArchiveError: INVALID_EXTENSION, for the first value that differs.
    """
    pairs = (
        ("joinPosition", image.join_position, "stopPosition", descriptor.stop_position),
        ("initialTermId", image.initial_term_id, "initialTermId", descriptor.initial_term_id),
        (
            "termBufferLength",
            image.term_length,
            "termBufferLength",
            descriptor.term_buffer_length,
        ),
        ("mtuLength", image.mtu, "mtuLength", descriptor.mtu_length),
    )
    for image_name, image_value, name, value in pairs:
        if image_value != value:
            raise ArchiveError(
                ArchiveErrorCode.INVALID_EXTENSION,
                f"cannot extend recording {descriptor.recording_id}"
                f" image.{image_name}={image_value} != rec.{name}={value}",
            )


def is_out_of_space(error: BaseException) -> bool:
    """Return whether an operation failed because the disk is full."""
    no_space = isinstance(error, OSError) and error.errno in _NO_SPACE
    return no_space or isinstance(error, StorageSpaceError)


def failure_of(context: ArchiveContext, writer: RecordingWriter) -> ArchiveError | None:
    """Return the error that ended a recording, as its client is told; None after a regular end.

    Errors of the recorder's native part are reported here. Those of its Python part were reported
    when they occurred.
    """
    if writer.failed_errno:
        os_error = OSError(writer.failed_errno, os.strerror(writer.failed_errno))
        context.reporter.error(os_error)
        usable = context.files.usable_space(context.config.archive_dir)
        is_full = writer.failed_errno in _NO_SPACE or usable < writer.failed_length
        return ArchiveError(
            ArchiveErrorCode.STORAGE_SPACE if is_full else ArchiveErrorCode.GENERIC,
            f"java.io.IOException - {os_error.strerror}",
        )
    if writer.counter_lost:
        lost = ResourceClosedError(
            f"recording {writer.recording_id} has ended at position {writer.recorded_position}: the"
            " driver has taken its position counter back, as it does when the archive's client was"
            " silent for longer than the client liveness timeout: start it again"
        )
        context.reporter.error(lost, "recording counter lost")
        return ArchiveError(ArchiveErrorCode.GENERIC, java_text(lost))
    failure = writer.failure
    if failure is None:
        return None
    if is_out_of_space(failure):
        text = os.strerror(getattr(failure, "errno", 0) or errno.ENOSPC)
        return ArchiveError(ArchiveErrorCode.STORAGE_SPACE, f"java.io.IOException - {text}")
    return ArchiveError(ArchiveErrorCode.GENERIC, java_text(failure))
