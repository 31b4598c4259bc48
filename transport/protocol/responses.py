"""Messages from the driver to its clients: layouts, encoding, decoding (spec cnc-and-commands 10).

Each message is a frozen dataclass whose ``TYPE_ID`` is the record type in the broadcast buffer.
Every client receives all messages and selects its own by their ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aerolog.transport.errors import MessageFormatError
from aerolog.transport.protocol.layout import Field, FieldError, FieldKind, Layout, decode, encode

NULL_VALUE = -1
ADDRESS_IPV4 = 1
ADDRESS_IPV6 = 2


@dataclass(frozen=True, slots=True)
class Response:
    """Base of all messages from the driver."""

    TYPE_ID: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class OnError(Response):
    """A command was refused; ``correlation_id`` is 0 if the driver could not read it."""

    TYPE_ID: ClassVar[int] = 0x0F01

    correlation_id: int
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class AvailableImage(Response):
    """A subscription has a new image, to be read from ``log_file``."""

    TYPE_ID: ClassVar[int] = 0x0F02

    correlation_id: int
    session_id: int
    stream_id: int
    subscription_registration_id: int
    position_counter_id: int
    log_file: str
    source_identity: str


@dataclass(frozen=True, slots=True)
class PublicationReady(Response):
    """A publication is ready; ``registration_id`` is that of the client that added it first."""

    TYPE_ID: ClassVar[int] = 0x0F03

    correlation_id: int
    registration_id: int
    session_id: int
    stream_id: int
    limit_counter_id: int
    channel_status_id: int
    log_file: str


@dataclass(frozen=True, slots=True)
class OperationSuccess(Response):
    """A command was carried out."""

    TYPE_ID: ClassVar[int] = 0x0F04

    correlation_id: int


@dataclass(frozen=True, slots=True)
class UnavailableImage(Response):
    """A subscription has lost an image."""

    TYPE_ID: ClassVar[int] = 0x0F05

    correlation_id: int
    subscription_registration_id: int
    stream_id: int
    channel: str


@dataclass(frozen=True, slots=True)
class ExclusivePublicationReady(PublicationReady):
    """An exclusive publication is ready; both ids are the command's correlation id."""

    TYPE_ID: ClassVar[int] = 0x0F06


@dataclass(frozen=True, slots=True)
class SubscriptionReady(Response):
    """A subscription is ready; ``channel_status_id`` is a counter id, -1 for IPC and spies."""

    TYPE_ID: ClassVar[int] = 0x0F07

    correlation_id: int
    channel_status_id: int


@dataclass(frozen=True, slots=True)
class CounterReady(Response):
    """A counter was allocated."""

    TYPE_ID: ClassVar[int] = 0x0F08

    correlation_id: int
    counter_id: int


@dataclass(frozen=True, slots=True)
class UnavailableCounter(Response):
    """A counter is about to be freed."""

    TYPE_ID: ClassVar[int] = 0x0F09

    registration_id: int
    counter_id: int


@dataclass(frozen=True, slots=True)
class ClientTimeout(Response):
    """The driver has timed a client out."""

    TYPE_ID: ClassVar[int] = 0x0F0A

    client_id: int


@dataclass(frozen=True, slots=True)
class StaticCounter(Response):
    """The id of the static counter that was requested, whether it is new or existed before."""

    TYPE_ID: ClassVar[int] = 0x0F0B

    correlation_id: int
    counter_id: int


@dataclass(frozen=True, slots=True)
class OnPublicationError(Response):
    """A receiver has rejected a publication's image."""

    TYPE_ID: ClassVar[int] = 0x0F0C

    registration_id: int
    destination_registration_id: int
    session_id: int
    stream_id: int
    receiver_id: int
    group_tag: int
    address_type: int
    port: int
    address: bytes
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class NextAvailableSessionId(Response):
    """A session id that no publication of the stream uses."""

    TYPE_ID: ClassVar[int] = 0x0F0D

    correlation_id: int
    session_id: int


_CORRELATION = Field("correlation_id", FieldKind.I64)
_SESSION = Field("session_id", FieldKind.I32)
_STREAM = Field("stream_id", FieldKind.I32)
_COUNTER_ID = Field("counter_id", FieldKind.I32)
_CODE = Field("code", FieldKind.I32)
_MESSAGE = Field("message", FieldKind.STRING)
_SUBSCRIPTION = Field("subscription_registration_id", FieldKind.I64)
_PUBLICATION_READY: Layout = (
    _CORRELATION,
    Field("registration_id", FieldKind.I64),
    _SESSION,
    _STREAM,
    Field("limit_counter_id", FieldKind.I32),
    Field("channel_status_id", FieldKind.I32),
    Field("log_file", FieldKind.STRING),
)

LAYOUTS: dict[type[Response], Layout] = {
    OnError: (_CORRELATION, _CODE, _MESSAGE),
    AvailableImage: (
        _CORRELATION,
        _SESSION,
        _STREAM,
        _SUBSCRIPTION,
        Field("position_counter_id", FieldKind.I32),
        Field("log_file", FieldKind.STRING),
        Field("source_identity", FieldKind.STRING, align=4),
    ),
    PublicationReady: _PUBLICATION_READY,
    OperationSuccess: (_CORRELATION,),
    UnavailableImage: (_CORRELATION, _SUBSCRIPTION, _STREAM, Field("channel", FieldKind.STRING)),
    ExclusivePublicationReady: _PUBLICATION_READY,
    SubscriptionReady: (_CORRELATION, Field("channel_status_id", FieldKind.I32)),
    CounterReady: (_CORRELATION, _COUNTER_ID),
    UnavailableCounter: (Field("registration_id", FieldKind.I64), _COUNTER_ID),
    ClientTimeout: (Field("client_id", FieldKind.I64),),
    StaticCounter: (_CORRELATION, _COUNTER_ID),
    OnPublicationError: (
        Field("registration_id", FieldKind.I64),
        Field("destination_registration_id", FieldKind.I64),
        _SESSION,
        _STREAM,
        Field("receiver_id", FieldKind.I64),
        Field("group_tag", FieldKind.I64),
        Field("address_type", FieldKind.I16),
        Field("port", FieldKind.U16),
        Field("address", FieldKind.ADDRESS),
        _CODE,
        _MESSAGE,
    ),
    NextAvailableSessionId: (_CORRELATION, _SESSION),
}

RESPONSES: dict[int, type[Response]] = {response.TYPE_ID: response for response in LAYOUTS}


def encode_response(response: Response) -> bytes:
    """Encode a response; its record type is ``response.TYPE_ID``."""
    return encode(LAYOUTS[type(response)], response)


def decode_response(type_id: int, data: bytes) -> Response | None:
    """Decode a message of the driver; None for an unknown type, as a later driver may send.

    Raises:
        MessageFormatError: if the lengths in the message contradict each other.
    """
    response = RESPONSES.get(type_id)
    if response is None:
        return None
    try:
        values = decode(LAYOUTS[response], data)
    except FieldError as error:
        raise MessageFormatError(
            f"driver message {response.__name__} (type {type_id:#x}) of {len(data)} bytes "
            f"is too short for its {error.field.name}"
        ) from None
    return response(**values)
