"""Where a replay and a live stream meet: the image that continues a recording, and the switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from aerolog.transport.client import Action
from aerolog.transport.protocol.frames import FLAG_BEGIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.format.descriptor import RecordingDescriptor
    from aerolog.transport.client import Image
    from aerolog.transport.client.message import Header

    T = TypeVar("T")

_FRAME_MASK: Final = 31
_SKIP_LIMIT: Final = 4096  # fragments at once


@dataclass(frozen=True, slots=True)
class LiveChoice:
    """The live image that was chosen, or why none was.

    Attributes:
        image: the image that continues the recording, None without one.
        mismatch: why the other images do not continue it, None when there are none.
    """

    image: Image | None = None
    mismatch: str | None = None


def choose_live(images: tuple[Image, ...], recording: RecordingDescriptor) -> LiveChoice:
    """The image that continues a recording: the recorded session's, else one of equal geometry.

    A stream that begins at another term id, or has terms of another length, has other positions
    and so is another stream, whatever its session.
    """
    present = [image for image in images if not image.closed]
    fitting = [
        image
        for image in present
        if image.initial_term_id == recording.initial_term_id
        and image.term_length == recording.term_buffer_length
    ]
    for image in fitting:
        if image.session_id == recording.session_id:
            return LiveChoice(image)
    if fitting:
        return LiveChoice(fitting[0])
    if not present:
        return LiveChoice()
    found = ", ".join(
        f"session {image.session_id} with initial term id {image.initial_term_id} and terms of "
        f"{image.term_length}"
        for image in present
    )
    return LiveChoice(
        mismatch=(
            f"the live stream does not continue recording {recording.recording_id} "
            f"(session {recording.session_id} with initial term id {recording.initial_term_id} and "
            f"terms of {recording.term_buffer_length}): {found}"
        )
    )


class Switch:
    """Brings a replay and a live image to the same position, between two messages.

    The live image skips what the replay has delivered, and the replay delivers what comes before
    the first whole message of the live image. Whichever image is behind catches up.

    Attributes:
        replay: the image that delivers up to the switch.
        live: the image that delivers after the switch.
    """

    def __init__(self, replay: Image, live: Image) -> None:
        self.replay = replay
        self.live = live

    def take(self, take: Callable[[Image, int | None], T], nothing: T) -> T:
        """Deliver the messages that the replay still has to deliver.

        Args:
            take: takes messages from the given image, up to the given position.
            nothing: the result when the live image has to catch up.
        """
        self.catch_up()
        meeting = self.live.position
        if meeting <= self.replay.position:
            return nothing
        return take(self.replay, meeting)

    def catch_up(self) -> None:
        """Skip what the live image has and the replay has delivered."""
        skip_to(self.live, self.replay.position)

    @property
    def is_done(self) -> bool:
        """Whether the live image is at the position of the replay."""
        reached = self.replay.position
        return self.live.position == reached == self.replay.message_position


def skip_to(live: Image, reached: int) -> None:
    """Pass over live fragments before a position, and over ends of messages that began there.

    A live image may begin within a message; the replay delivers that message.
    """

    def skip(_: memoryview, header: Header) -> Action | None:
        start = header.position - ((header.frame_length + _FRAME_MASK) & ~_FRAME_MASK)
        begins = header.flags & FLAG_BEGIN
        return None if start < reached or not begins else Action.ABORT

    live.poll_controlled(skip, _SKIP_LIMIT, assemble=False)
