from collections.abc import Sequence

from aerolog.transport.driver.network.dispatcher import Dispatcher
from aerolog.transport.driver.network.receive_transport import ReceiveTransport, TransportSet

class ReceiveEndpoint(TransportSet):
    """A receive channel endpoint: transports, the streams wanted from them, who answers."""

    def __init__(
        self,
        receiver_id: int,
        transports: Sequence[ReceiveTransport] = (),
        *,
        group_tag: int | None = None,
        multi_destination: bool = False,
        session_limit: int = ...,
        channel_timestamp_offset: int = -1,
        media_timestamp_offset: int = -1,
    ) -> None:
        """Made by the conductor, turned by the receiver after `Receiver.add_endpoint`.

        Args:
            receiver_id: int64, of this endpoint alone: the driver's base plus a running number.
            transports: exactly one; of a multi-destination endpoint, those there are already.
            group_tag: int64 sent with status messages and errors, None for none.
            multi_destination: control-mode=manual: transports come and go.
            session_limit: `aeron.driver.stream.session.limit`: images a stream may have.
            channel_timestamp_offset: `channel-rcv-ts-offset`: into the payload, -8 for the
                reserved value, -1 for none.
            media_timestamp_offset: `media-rcv-ts-offset`, likewise; the ports need `timestamps`.

        Raises:
            ConfigurationError: not one transport, or an index used twice.
        """

    @property
    def transports(self) -> tuple[ReceiveTransport, ...]:
        """Those that the conductor has given it, in the order of their indexes."""

    @property
    def dispatcher(self) -> Dispatcher: ...
    def free_index(self) -> int:
        """The lowest index no transport has, for the next destination.

        Raises:
            ConfigurationError: it has as many transports as it may have.
        """

    def hold(self, transport: ReceiveTransport) -> None:
        """Note a transport; the receiver's methods do."""

    def drop(self, transport: ReceiveTransport) -> None:
        """Forget a transport; the receiver's methods do."""

    @property
    def channel_timestamp_offset(self) -> int: ...
    @property
    def media_timestamp_offset(self) -> int: ...
    @property
    def stamps(self) -> bool: ...
