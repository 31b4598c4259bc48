"""Events from the sender to the conductor (spec wire-protocol 5.6, 12, 14, 15.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from aerolog.transport.driver.send.send_endpoint import SendEndpoint
    from aerolog.transport.driver.send.send_stream import SendStream
    from aerolog.transport.network.port import Address


@dataclass(frozen=True, slots=True)
class PublicationReleased:
    """The sender no longer uses a publication: its counters and log may be freed."""

    publication: SendStream


@dataclass(frozen=True, slots=True)
class EndpointReleased:
    """The sender no longer uses an endpoint: its port may be closed."""

    endpoint: SendEndpoint


@dataclass(frozen=True, slots=True)
class PublicationError:
    """A live receiver has rejected the stream.

    Attributes:
        publication: the publication that was rejected.
        destination_registration_id: of the manual destination that it came from, else -1.
        receiver_id: the receiver's id, signed, 64 bits.
        group_tag: the tag in the frame, in practice 0 where the frame says that there is none.
        code: the error code of the frame; 13 is a rejected image.
        address: the address that the frame came from.
        text: the reason, at most 1023 characters.
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
    """A receiver of a request publication names the session of the response."""

    publication: SendStream
    response_session_id: int


@dataclass(frozen=True, slots=True)
class ResponseConnected:
    """A response publication without live receivers now has one."""

    publication: SendStream


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An address was silent for 5 s: its name has to be resolved again.

    Attributes:
        endpoint: the endpoint that sends there.
        registration_id: of the manual destination, None for the endpoint's own address.
    """

    endpoint: SendEndpoint
    registration_id: int | None


@dataclass(frozen=True, slots=True)
class SendFailed:
    """The system refused to send; reported at most once a second for an endpoint.

    Attributes:
        endpoint: the endpoint that was to send.
        errno: of the refusal; full buffers and unreachable ports are not reported.
        address: the destination, None for the connected peer.
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
