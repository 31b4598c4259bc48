"""Commands from a client to the driver: layouts, encoding, decoding (spec cnc-and-commands 9).

Each command is a frozen dataclass whose ``TYPE_ID`` is the record type in the to-driver ring
buffer. ``encode_command`` gives the bytes of the message, ``decode_command`` reads hostile ones.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from aerolog.transport.errors import ControlProtocolError, ErrorCode
from aerolog.transport.protocol.layout import (
    I32,
    I64,
    DriverMessage,
    Field,
    FieldError,
    FieldKind,
    Text,
    decode,
    encode,
    fixed_length,
    message_type,
)

REVOKE_FLAG = 1
NULL_VALUE = -1

Channel = Annotated[str, Field(FieldKind.STRING, what="channel")]
Key = Annotated[bytes, Field(FieldKind.BYTES, what="key")]
Label = Annotated[str, Field(FieldKind.STRING, align=4, what="label")]


@dataclass(frozen=True, slots=True)
class Command(DriverMessage):
    """Base of all commands: the ids of the client and of the command, which come first in each."""

    client_id: I64
    correlation_id: I64


#: The commands by their type.
COMMANDS: Final[dict[int, type[Command]]] = {}


@message_type(COMMANDS, 0x01)
class AddPublication(Command):
    """Answered by PublicationReady."""

    stream_id: I32
    channel: Channel


@message_type(COMMANDS, 0x02)
class RemovePublication(Command):
    """Answered by OperationSuccess; ``registration_id`` is the add command's correlation id."""

    registration_id: I64
    flags: Annotated[int, Field(FieldKind.I64, optional=True)] = 0

    @property
    def revoke(self) -> bool:
        """Whether subscribers are cut off at once."""
        return self.flags & REVOKE_FLAG != 0


@message_type(COMMANDS, 0x03)
class AddExclusivePublication(Command):
    """Answered by ExclusivePublicationReady."""

    stream_id: I32
    channel: Channel


@message_type(COMMANDS, 0x04)
class AddSubscription(Command):
    """Answered by SubscriptionReady, then AvailableImage for each match there is."""

    stream_id: I32
    channel: Channel
    registration_correlation_id: I64 = NULL_VALUE


@message_type(COMMANDS, 0x05)
class RemoveSubscription(Command):
    """Answered by OperationSuccess."""

    registration_id: I64


@message_type(COMMANDS, 0x06)
class ClientKeepalive(Command):
    """Not answered."""


@message_type(COMMANDS, 0x07)
class AddDestination(Command):
    """``registration_id`` is the publication's, that of its first adder."""

    registration_id: I64
    channel: Channel


@message_type(COMMANDS, 0x08)
class RemoveDestination(Command):
    """``registration_id`` is the publication's, that of its first adder."""

    registration_id: I64
    channel: Channel


@message_type(COMMANDS, 0x09)
class AddCounter(Command):
    """Answered by CounterReady."""

    type_id: I32
    key: Key
    label: Label


@message_type(COMMANDS, 0x0A)
class RemoveCounter(Command):
    """Answered by OperationSuccess, then UnavailableCounter."""

    registration_id: I64


@message_type(COMMANDS, 0x0B)
class ClientClose(Command):
    """Not answered."""


@message_type(COMMANDS, 0x0C)
class AddReceiveDestination(Command):
    """``registration_id`` is the subscription's."""

    registration_id: I64
    channel: Channel


@message_type(COMMANDS, 0x0D)
class RemoveReceiveDestination(Command):
    """``registration_id`` is the subscription's."""

    registration_id: I64
    channel: Channel


@message_type(COMMANDS, 0x0E)
class TerminateDriver(Command):
    """Not answered."""

    token: Annotated[bytes, Field(FieldKind.BYTES, what="token buffer")] = b""


@message_type(COMMANDS, 0x0F)
class AddStaticCounter(Command):
    """Answered by StaticCounter; ``registration_id`` is the caller's choice."""

    registration_id: I64
    type_id: I32
    key: Key
    label: Label


@message_type(COMMANDS, 0x10)
class RejectImage(Command):
    """Answered by OperationSuccess."""

    image_correlation_id: I64
    position: I64
    reason: Text


@message_type(COMMANDS, 0x11)
class RemoveDestinationById(Command):
    """``registration_id`` is the publication's, that of its first adder."""

    registration_id: I64
    destination_registration_id: I64


@message_type(COMMANDS, 0x12)
class GetNextAvailableSessionId(Command):
    """Answered by NextAvailableSessionId."""

    stream_id: I32


# On the wire, unlike here, the last member stands before the stream.
AddSubscription.LAYOUT = tuple(AddSubscription.LAYOUT[index] for index in (0, 1, 4, 2, 3))

_MIN_LENGTHS: Final = {command: fixed_length(command.LAYOUT) for command in COMMANDS.values()}


def encode_command(command: Command) -> bytes:
    """The message of a command; its record type is ``command.TYPE_ID``."""
    return encode(command)


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
        values = decode(command.LAYOUT, data)
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
