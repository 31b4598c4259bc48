"""Messages from the driver to its clients: layouts, encoding, decoding (spec cnc-and-commands 10).

Each message is a frozen dataclass whose ``TYPE_ID`` is the record type in the broadcast buffer.
Every client receives all messages and selects its own by their ids.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from aerolog.transport.errors import MessageFormatError
from aerolog.transport.protocol.layout import (
    I16,
    I32,
    I64,
    U16,
    DriverMessage,
    Field,
    FieldError,
    FieldKind,
    Text,
    decode,
    encode,
    message_type,
)

ADDRESS_IPV4 = 1
ADDRESS_IPV6 = 2


@dataclass(frozen=True, slots=True)
class Response(DriverMessage):
    """Base of all messages from the driver."""


#: The messages by their type.
RESPONSES: Final[dict[int, type[Response]]] = {}


@message_type(RESPONSES, 0x0F01)
class OnError(Response):
    """A command was refused; ``correlation_id`` is 0 if the driver could not read it."""

    correlation_id: I64
    code: I32
    message: Text


@message_type(RESPONSES, 0x0F02)
class AvailableImage(Response):
    """A subscription has a new image, to be read from ``log_file``."""

    correlation_id: I64
    session_id: I32
    stream_id: I32
    subscription_registration_id: I64
    position_counter_id: I32
    log_file: Text
    source_identity: Annotated[str, Field(FieldKind.STRING, align=4)]


@message_type(RESPONSES, 0x0F03)
class PublicationReady(Response):
    """A publication is ready; ``registration_id`` is that of the client that added it first."""

    correlation_id: I64
    registration_id: I64
    session_id: I32
    stream_id: I32
    limit_counter_id: I32
    channel_status_id: I32
    log_file: Text


@message_type(RESPONSES, 0x0F04)
class OperationSuccess(Response):
    """A command was carried out."""

    correlation_id: I64


@message_type(RESPONSES, 0x0F05)
class UnavailableImage(Response):
    """A subscription has lost an image."""

    correlation_id: I64
    subscription_registration_id: I64
    stream_id: I32
    channel: Text


@message_type(RESPONSES, 0x0F06)
class ExclusivePublicationReady(PublicationReady):
    """An exclusive publication is ready; both ids are the command's correlation id."""


@message_type(RESPONSES, 0x0F07)
class SubscriptionReady(Response):
    """A subscription is ready; ``channel_status_id`` is a counter id, -1 for IPC and spies."""

    correlation_id: I64
    channel_status_id: I32


@message_type(RESPONSES, 0x0F08)
class CounterReady(Response):
    """A counter was allocated."""

    correlation_id: I64
    counter_id: I32


@message_type(RESPONSES, 0x0F09)
class UnavailableCounter(Response):
    """A counter is about to be freed."""

    registration_id: I64
    counter_id: I32


@message_type(RESPONSES, 0x0F0A)
class ClientTimeout(Response):
    """The driver has timed a client out."""

    client_id: I64


@message_type(RESPONSES, 0x0F0B)
class StaticCounter(Response):
    """The id of the static counter that was requested, whether it is new or existed before."""

    correlation_id: I64
    counter_id: I32


@message_type(RESPONSES, 0x0F0C)
class OnPublicationError(Response):
    """A receiver has rejected a publication's image."""

    registration_id: I64
    destination_registration_id: I64
    session_id: I32
    stream_id: I32
    receiver_id: I64
    group_tag: I64
    address_type: I16
    port: U16
    address: Annotated[bytes, Field(FieldKind.ADDRESS)]
    code: I32
    message: Text


@message_type(RESPONSES, 0x0F0D)
class NextAvailableSessionId(Response):
    """A session id that no publication of the stream uses."""

    correlation_id: I64
    session_id: I32


def encode_response(response: Response) -> bytes:
    """Encode a response; its record type is ``response.TYPE_ID``."""
    return encode(response)


def decode_response(type_id: int, data: bytes) -> Response | None:
    """Decode a message of the driver; None for an unknown type, as a later driver may send.

    Raises:
        MessageFormatError: if the lengths in the message contradict each other.
    """
    response = RESPONSES.get(type_id)
    if response is None:
        return None
    try:
        values = decode(response.LAYOUT, data)
    except FieldError as error:
        raise MessageFormatError(
            f"driver message {response.__name__} (type {type_id:#x}) of {len(data)} bytes "
            f"is too short for its {error.field.name}"
        ) from None
    return response(**values)
