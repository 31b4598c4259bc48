"""Commands from a client to the driver: layouts, encoding, decoding (spec cnc-and-commands 9).

Each command is a frozen dataclass whose ``TYPE_ID`` is the record type in the to-driver ring
buffer. ``encode_command`` gives the bytes of the message, ``decode_command`` reads hostile ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aerolog.transport.errors import ControlProtocolError, ErrorCode
from aerolog.transport.protocol.layout import (
    Field,
    FieldError,
    FieldKind,
    Layout,
    decode,
    encode,
    fixed_length,
)

REVOKE_FLAG = 1
NULL_VALUE = -1


@dataclass(frozen=True, slots=True)
class Command:
    """Base of all commands: the ids of the client and of the command, which come first in each."""

    TYPE_ID: ClassVar[int] = 0

    client_id: int
    correlation_id: int


@dataclass(frozen=True, slots=True)
class AddPublication(Command):
    """Answered by PublicationReady."""

    TYPE_ID: ClassVar[int] = 0x01

    stream_id: int
    channel: str


@dataclass(frozen=True, slots=True)
class RemovePublication(Command):
    """Answered by OperationSuccess; ``registration_id`` is the add command's correlation id."""

    TYPE_ID: ClassVar[int] = 0x02

    registration_id: int
    flags: int = 0

    @property
    def revoke(self) -> bool:
        """Whether subscribers are cut off at once."""
        return self.flags & REVOKE_FLAG != 0


@dataclass(frozen=True, slots=True)
class AddExclusivePublication(Command):
    """Answered by ExclusivePublicationReady."""

    TYPE_ID: ClassVar[int] = 0x03

    stream_id: int
    channel: str


@dataclass(frozen=True, slots=True)
class AddSubscription(Command):
    """Answered by SubscriptionReady, then AvailableImage for each match there is."""

    TYPE_ID: ClassVar[int] = 0x04

    stream_id: int
    channel: str
    registration_correlation_id: int = NULL_VALUE


@dataclass(frozen=True, slots=True)
class RemoveSubscription(Command):
    """Answered by OperationSuccess."""

    TYPE_ID: ClassVar[int] = 0x05

    registration_id: int


@dataclass(frozen=True, slots=True)
class ClientKeepalive(Command):
    """Not answered."""

    TYPE_ID: ClassVar[int] = 0x06


@dataclass(frozen=True, slots=True)
class AddDestination(Command):
    """``registration_id`` is the publication's, that of its first adder."""

    TYPE_ID: ClassVar[int] = 0x07

    registration_id: int
    channel: str


@dataclass(frozen=True, slots=True)
class RemoveDestination(Command):
    """``registration_id`` is the publication's, that of its first adder."""

    TYPE_ID: ClassVar[int] = 0x08

    registration_id: int
    channel: str


@dataclass(frozen=True, slots=True)
class AddCounter(Command):
    """Answered by CounterReady."""

    TYPE_ID: ClassVar[int] = 0x09

    type_id: int
    key: bytes
    label: str


@dataclass(frozen=True, slots=True)
class RemoveCounter(Command):
    """Answered by OperationSuccess, then UnavailableCounter."""

    TYPE_ID: ClassVar[int] = 0x0A

    registration_id: int


@dataclass(frozen=True, slots=True)
class ClientClose(Command):
    """Not answered."""

    TYPE_ID: ClassVar[int] = 0x0B


@dataclass(frozen=True, slots=True)
class AddReceiveDestination(Command):
    """``registration_id`` is the subscription's."""

    TYPE_ID: ClassVar[int] = 0x0C

    registration_id: int
    channel: str


@dataclass(frozen=True, slots=True)
class RemoveReceiveDestination(Command):
    """``registration_id`` is the subscription's."""

    TYPE_ID: ClassVar[int] = 0x0D

    registration_id: int
    channel: str


@dataclass(frozen=True, slots=True)
class TerminateDriver(Command):
    """Not answered."""

    TYPE_ID: ClassVar[int] = 0x0E

    token: bytes = b""


@dataclass(frozen=True, slots=True)
class AddStaticCounter(Command):
    """Answered by StaticCounter; ``registration_id`` is the caller's choice."""

    TYPE_ID: ClassVar[int] = 0x0F

    registration_id: int
    type_id: int
    key: bytes
    label: str


@dataclass(frozen=True, slots=True)
class RejectImage(Command):
    """Answered by OperationSuccess."""

    TYPE_ID: ClassVar[int] = 0x10

    image_correlation_id: int
    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class RemoveDestinationById(Command):
    """``registration_id`` is the publication's, that of its first adder."""

    TYPE_ID: ClassVar[int] = 0x11

    registration_id: int
    destination_registration_id: int


@dataclass(frozen=True, slots=True)
class GetNextAvailableSessionId(Command):
    """Answered by NextAvailableSessionId."""

    TYPE_ID: ClassVar[int] = 0x12

    stream_id: int


_PREFIX: Layout = (Field("client_id", FieldKind.I64), Field("correlation_id", FieldKind.I64))
_STREAM = Field("stream_id", FieldKind.I32)
_CHANNEL = Field("channel", FieldKind.STRING, what="channel")
_REGISTRATION = Field("registration_id", FieldKind.I64)
_COUNTER: Layout = (
    Field("type_id", FieldKind.I32),
    Field("key", FieldKind.BYTES, what="key"),
    Field("label", FieldKind.STRING, align=4, what="label"),
)
_DESTINATION: Layout = (*_PREFIX, _REGISTRATION, _CHANNEL)

LAYOUTS: dict[type[Command], Layout] = {
    AddPublication: (*_PREFIX, _STREAM, _CHANNEL),
    RemovePublication: (*_PREFIX, _REGISTRATION, Field("flags", FieldKind.I64, optional=True)),
    AddExclusivePublication: (*_PREFIX, _STREAM, _CHANNEL),
    AddSubscription: (
        *_PREFIX,
        Field("registration_correlation_id", FieldKind.I64),
        _STREAM,
        _CHANNEL,
    ),
    RemoveSubscription: (*_PREFIX, _REGISTRATION),
    ClientKeepalive: _PREFIX,
    AddDestination: _DESTINATION,
    RemoveDestination: _DESTINATION,
    AddCounter: (*_PREFIX, *_COUNTER),
    RemoveCounter: (*_PREFIX, _REGISTRATION),
    ClientClose: _PREFIX,
    AddReceiveDestination: _DESTINATION,
    RemoveReceiveDestination: _DESTINATION,
    TerminateDriver: (*_PREFIX, Field("token", FieldKind.BYTES, what="token buffer")),
    AddStaticCounter: (*_PREFIX, _REGISTRATION, *_COUNTER),
    RejectImage: (
        *_PREFIX,
        Field("image_correlation_id", FieldKind.I64),
        Field("position", FieldKind.I64),
        Field("reason", FieldKind.STRING),
    ),
    RemoveDestinationById: (
        *_PREFIX,
        _REGISTRATION,
        Field("destination_registration_id", FieldKind.I64),
    ),
    GetNextAvailableSessionId: (*_PREFIX, _STREAM),
}

COMMANDS: dict[int, type[Command]] = {command.TYPE_ID: command for command in LAYOUTS}
_MIN_LENGTHS = {command: fixed_length(layout) for command, layout in LAYOUTS.items()}


def encode_command(command: Command) -> bytes:
    """The message of a command; its record type is ``command.TYPE_ID``."""
    return encode(LAYOUTS[type(command)], command)


def decode_command(type_id: int, data: bytes) -> Command:
    """Read a command that any process may have written.

    Raises:
        ControlProtocolError: unknown type (UNKNOWN_COMMAND_TYPE_ID) or lengths that do not hold
            together (MALFORMED_COMMAND), with the text of spec cnc-and-commands 11.3 after its
            ``ERROR - ``.
    """
    command = COMMANDS.get(type_id)
    if command is None:
        raise ControlProtocolError(ErrorCode.UNKNOWN_COMMAND_TYPE_ID, f"command typeId={type_id}")
    if len(data) < _MIN_LENGTHS[command]:
        raise _malformed(f"command={type_id} too short: length={len(data)}")
    try:
        values = decode(LAYOUTS[command], data)
    except FieldError as error:
        raise _misfit(type_id, len(data), error) from None
    return command(**values)  # type: ignore[arg-type]  # the table names each member and its kind


def _misfit(type_id: int, length: int, error: FieldError) -> ControlProtocolError:
    what = f" for {error.field.what}" if error.field.what else ""
    encoded = ""
    if error.field.name == "label" and error.claimed is not None:
        encoded = f" encodedLength={error.claimed}"
    return _malformed(f"command={type_id} too short{what}: length={length}{encoded}")


def _malformed(message: str) -> ControlProtocolError:
    return ControlProtocolError(ErrorCode.MALFORMED_COMMAND, message)
