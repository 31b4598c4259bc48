"""What the sender tells the conductor (spec wire-protocol 5.6, 12, 14, 15.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from aerolog.transport.driver.send.send_endpoint import SendEndpoint
    from aerolog.transport.driver.send.send_stream import SendStream
    from aerolog.transport.network.port import Address


@dataclass(frozen=True, slots=True)
class PublicationReleased:
    """The sender touches a publication no more: its counters and log may go."""

    publication: SendStream


@dataclass(frozen=True, slots=True)
class EndpointReleased:
    """The sender touches an endpoint no more: its port may be closed."""

    endpoint: SendEndpoint


@dataclass(frozen=True, slots=True)
class PublicationError:
    """A receiver that was live has rejected the stream.

    Attributes:
        publication: that it rejected.
        destination_registration_id: of the manual destination that it came from, else -1.
        receiver_id: of the receiver, signed, 64 bits.
        group_tag: as the frame has it, 0 in practice where it says there is none.
        code: error code of the frame; 13 is a rejected image.
        address: where the frame came from.
        text: at most 1023 characters.
    """

    publication: SendStream
    destination_registration_id: int
    receiver_id: int
    group_tag: int
    code: int
    address: Address
    text: str


@dataclass(frozen=True, slots=True)
class ResponseSetup:
    """A receiver of a request publication says in which session it will be answered."""

    publication: SendStream
    response_session_id: int


@dataclass(frozen=True, slots=True)
class ResponseConnected:
    """A response publication that had no live receivers has one."""

    publication: SendStream


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Nothing was heard from an address for 5 s: look its name up again.

    Attributes:
        endpoint: that sends there.
        registration_id: of the manual destination, None for the endpoint's own address.
    """

    endpoint: SendEndpoint
    registration_id: int | None


@dataclass(frozen=True, slots=True)
class SendFailed:
    """The system refused to send, at most once a second an endpoint.

    Attributes:
        endpoint: that was to send.
        errno: of the refusal; full buffers and unreachable ports are none.
        address: where to, None for the connected peer.
    """

    endpoint: SendEndpoint
    errno: int
    address: Address | None


SenderEvent: TypeAlias = (
    PublicationReleased
    | EndpointReleased
    | PublicationError
    | ResponseSetup
    | ResponseConnected
    | Unresolved
    | SendFailed
)
