"""What the parts of a node say to each other, taken from the logs of their streams.

Messages are shown field by field. Left out is what differs between two runs of one node: times, and
what the driver and the network chose (spec cluster 25).
"""

from __future__ import annotations

import re
import struct
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.cluster.protocol import (
    SCHEMA,
    CancelTimer,
    ScheduleTimer,
    ServiceAck,
    SessionKeepAlive,
    SessionMessageHeader,
    Timer,
    TimerEvent,
)
from aerolog.transport.protocol.sbe import HEADER

if TYPE_CHECKING:
    from typing import BinaryIO, Self

    from aerolog.transport.client import Aeron

FRAME_HEADER_LENGTH: Final = 32
LINGER: Final = ("aeron.publication.linger.timeout", "300s")
READ_LIMIT: Final = 128 * 1024
BEGIN_FLAG: Final = 0x80
INGRESS, EGRESS, TO_SERVICES, TO_MODULE = 101, 102, 104, 105
STREAMS: Final = {
    INGRESS: "ingress",
    EGRESS: "egress",
    TO_SERVICES: "module to services",
    TO_MODULE: "services to module",
}
CHOSEN: Final = frozenset(
    (
        "timestamp",
        "log_session_id",
        "correlation_id",
        "deadline",
        "current_time_ns",
        "active_members",
    )
)
#: Messages whose correlation id is a service's own.
OF_TIMERS: Final = (CancelTimer, ScheduleTimer, Timer, TimerEvent)
#: In texts: ports, the tags and the session ids of channels, and who a client says it is.
_CHOSEN_IN_TEXT: Final = re.compile(
    r"(?<=localhost:)\d+|(?<=session-id=)-?\d+|(?<=tags=)[\d,]+"
    r"|(?<=version=)[\d.]+|(?<=commit=)\w+"
)


class Frame(NamedTuple):
    """A frame of a log.

    Attributes:
        type: of the frame, 1 for data.
        flags: begin and end of a message.
        payload: what stands behind its header.
    """

    type: int
    flags: int
    payload: bytes


def frames(data: bytes) -> list[Frame]:
    """The frames at the start of a log or of a segment of its recording."""
    found = []
    at = 0
    while at + FRAME_HEADER_LENGTH <= len(data):
        length, _, flags, kind, offset = struct.unpack_from("<iBBHi", data, at)
        if length <= 0:
            break
        assert offset == at
        found.append(Frame(kind, flags, data[at + FRAME_HEADER_LENGTH : at + length]))
        at += (length + 31) & ~31
    return found


def text_without_chosen(text: str) -> str:
    return _CHOSEN_IN_TEXT.sub("#", text)


def shown(payload: bytes) -> tuple[Any, ...]:
    """A message as its name, its header, its fields and what stands behind them.

    What the messages of other schemas are, or the rest of one in fragments, is shown as it is.
    """
    if len(payload) < HEADER.size or HEADER.unpack_from(payload)[2] != SCHEMA.id:
        return (payload,)
    message = SCHEMA.decode(payload)
    assert message is not None, payload
    encoded = message.encode()
    assert payload.startswith(encoded), "bytes that the fields do not show"
    values = {}
    for name in message.LAYOUT.names:
        value = getattr(message, name)
        if name not in CHOSEN or (name == "correlation_id" and isinstance(message, OF_TIMERS)):
            values[name] = text_without_chosen(value) if isinstance(value, str) else value
    if isinstance(message, ServiceAck) and message.ack_id == 0:
        del values["relevant_id"]  # the id of the service's transport client
    return (type(message).__name__, HEADER.unpack_from(payload), values, payload[len(encoded) :])


class Tape:
    """Keeps the logs of a driver's publications, which are short, until it is closed.

    A driver clears a log when nobody reads it. That of a UDP publication stays for the linger
    timeout, LINGER; those of IPC have a subscriber here, who never reads.
    """

    def __init__(self, aeron: Aeron) -> None:
        self._folder = Path(aeron.aeron_dir, "publications")
        self._opened = ExitStack()
        self._logs: dict[int, BinaryIO] = {}
        for stream_id in STREAMS:
            self._opened.enter_context(aeron.add_subscription("aeron:ipc", stream_id))

    def look(self) -> None:
        """Open the logs that are new; what comes and goes between two looks is not on the tape."""
        for path in self._folder.glob("*.logbuffer"):
            number = int(path.stem)
            if number not in self._logs:
                with suppress(FileNotFoundError):  # it has gone since the folder was listed
                    self._logs[number] = self._opened.enter_context(path.open("rb"))

    def logs(self, stream_id: int) -> list[list[Frame]]:
        """The frames of each log of a stream, in the order in which the logs were added."""
        found = []
        for _, log in sorted(self._logs.items()):
            log.seek(0)
            data = log.read(READ_LIMIT)
            if int.from_bytes(data[16:20], "little", signed=True) == stream_id:
                found.append(frames(data))
        return found

    def __enter__(self) -> Self:
        self.look()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def spoken(tape: Tape, stream_id: int) -> list[list[tuple[Any, ...]]]:
    """What was said in each log of a stream, but for signs of life, which depend on the time."""
    found = [
        [each for each in map(as_said, log) if each[1] != SessionKeepAlive.__name__]
        for log in tape.logs(stream_id)
    ]
    if stream_id == TO_MODULE:
        for _, name, _, values, _ in (each for log in found for each in log if len(each) > 2):
            if name == SessionMessageHeader.__name__:
                # The reference's module writes the number into the bytes that it has received.
                del values["cluster_session_id"]
    return found


def as_said(frame: Frame) -> tuple[Any, ...]:
    """A frame of a stream between the parts of a node."""
    if not frame.flags & BEGIN_FLAG:
        return (frame.flags, frame.payload)
    return (frame.flags, *shown(frame.payload))


def recorded(folder: Path) -> list[tuple[Any, ...]]:
    """What each recording of a node is of, and what its first segment holds."""
    found: list[tuple[Any, ...]] = []
    with ArchiveFolder(folder / "archive") as archive:
        for recording in archive.recordings():
            of = recording.descriptor
            channel = text_without_chosen(of.original_channel)
            with (folder / "archive" / f"{of.recording_id}-0.rec").open("rb") as segment:
                held = frames(segment.read(READ_LIMIT))
            found.append(
                (
                    (channel, of.stream_id, of.term_buffer_length, of.mtu_length),
                    *((frame.type, *as_said(frame)) for frame in held),
                )
            )
    return found
