"""Events from the receiver to the conductor: setups, releases, failures.

Spec wire-protocol 8, 9.7, 15.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from aerolog.transport.driver.receive.receive_endpoint import ReceiveEndpoint
    from aerolog.transport.driver.receive.receive_stream import ReceiveStream
    from aerolog.transport.driver.receive.receive_transport import ReceiveTransport
    from aerolog.transport.network.port import Address


@dataclass(frozen=True, slots=True)
class CreateImage:
    """A session that a subscription wants has sent a valid SETUP.

    `Receiver.add_image` or `Receiver.refuse_image` has to answer it once; until then the session's
    frames are dropped.

    Attributes:
        endpoint: the endpoint that received it.
        transport_index: of the transport that received it.
        session_id, stream_id: int32.
        initial_term_id, active_term_id: int32; the active one is not before the initial one.
        term_offset: of the sender's position, below the term length, a multiple of 32.
        term_length: a power of two, 64 KiB to 1 GiB.
        mtu: the sender's MTU, valid for the term length.
        flags: SETUP_FLAG_* of `aerolog.transport.protocol.frames`.
        source: the address that it came from.
        control: the address for status messages: the transport's group, else the source.
    """

    endpoint: ReceiveEndpoint
    transport_index: int
    session_id: int
    stream_id: int
    initial_term_id: int
    active_term_id: int
    term_offset: int
    term_length: int
    mtu: int
    flags: int
    source: Address
    control: Address


@dataclass(frozen=True, slots=True)
class ImageReleased:
    """The receiver no longer uses an image."""

    image: ReceiveStream


@dataclass(frozen=True, slots=True)
class EndpointReleased:
    """The receiver no longer uses an endpoint and its transports: close their ports."""

    endpoint: ReceiveEndpoint


@dataclass(frozen=True, slots=True)
class TransportReleased:
    """The receiver no longer uses a removed destination's transport: close its port."""

    endpoint: ReceiveEndpoint
    transport: ReceiveTransport


@dataclass(frozen=True, slots=True)
class SessionLimitExceeded:
    """A SETUP was dropped because its stream has the maximum number of sessions."""

    endpoint: ReceiveEndpoint
    stream_id: int
    source: Address


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Nothing came through a transport for 5 s: resolve its explicit control address again."""

    endpoint: ReceiveEndpoint
    transport: ReceiveTransport


@dataclass(frozen=True, slots=True)
class ReceiveFailed:
    """The system refused to receive through a transport; reported at most once a second each."""

    transport: ReceiveTransport
    errno: int


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """The system refused a control frame; reported at most once a second for a transport."""

    transport: ReceiveTransport
    destination: Address
    errno: int


ReceiverEvent: TypeAlias = (
    CreateImage
    | ImageReleased
    | EndpointReleased
    | TransportReleased
    | SessionLimitExceeded
    | Unresolved
    | ReceiveFailed
    | AnswerFailed
)
