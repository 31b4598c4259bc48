"""A receive channel endpoint (spec wire-protocol 3.1, 8.2, 13, 16)."""

from aerolog.transport.driver.receive.data_packet_dispatcher cimport DataPacketDispatcher
from aerolog.transport.driver.receive.receive_transport cimport (
    MAX_TRANSPORTS,
    ReceiveTransport,
    TransportSet,
)

from aerolog.transport.errors import ConfigurationError

cdef enum:
    NO_OFFSET = -1
    RESERVED_VALUE = -8     # as an offset into the payload


def _checked_offset(name: str, offset: int) -> int:
    if offset < 0 and offset not in (NO_OFFSET, RESERVED_VALUE) or offset > 2**31 - 1:
        raise ConfigurationError(
            f"{name} is {offset}; use 0 or more, {NO_OFFSET} for none,"
            f" {RESERVED_VALUE} for the reserved value"
        )
    return offset


cdef class ReceiveEndpoint(TransportSet):
    """A receive channel endpoint: its transports, wanted streams and images, and receiver id."""
    def __init__(
        self,
        receiver_id,
        transports=(),
        *,
        group_tag=None,
        multi_destination=False,
        session_limit=2**31 - 1,
        channel_timestamp_offset=NO_OFFSET,
        media_timestamp_offset=NO_OFFSET,
    ):
        """Make an endpoint; the receiver runs it after `Receiver.add_endpoint`.

        Args:
            receiver_id: int64, of this endpoint alone: the driver's base plus a running number.
            transports: exactly one; for a multi-destination endpoint, those that exist already.
            group_tag: the int64 sent with status messages and errors, None for none.
            multi_destination: whether control-mode is manual, so that transports come and go.
            session_limit: `aeron.driver.stream.session.limit`: images a stream may have.
            channel_timestamp_offset: `channel-rcv-ts-offset`: an offset in the payload, -8 for the
                reserved value, -1 for none.
            media_timestamp_offset: `media-rcv-ts-offset`, likewise; the ports need `timestamps`.

        Raises:
            ConfigurationError: there is not exactly one transport, or an index is used twice.
        """
        super().__init__(receiver_id, group_tag=group_tag, multi_destination=multi_destination)
        self.dispatcher = DataPacketDispatcher(session_limit)
        self._transports = {}
        self.channel_timestamp_offset = _checked_offset(
            "channel-rcv-ts-offset", channel_timestamp_offset
        )
        self.media_timestamp_offset = _checked_offset(
            "media-rcv-ts-offset", media_timestamp_offset
        )
        self.stamps = (channel_timestamp_offset, media_timestamp_offset) != (NO_OFFSET, NO_OFFSET)
        for transport in transports:
            self.hold(transport)
        if not multi_destination and list(self._transports) != [0]:
            raise ConfigurationError(
                f"a receive endpoint has one transport, of index 0: {list(self._transports)}"
            )

    @property
    def transports(self):
        """The transports that the conductor has added, in the order of their indexes."""
        return tuple(self._transports[index] for index in sorted(self._transports))

    def free_index(self):
        """Return the lowest index that no transport has, for the next destination.

        Raises:
            ConfigurationError: it has the maximum number of transports.
        """
        for index in range(MAX_TRANSPORTS):
            if index not in self._transports:
                return index
        raise ConfigurationError(f"a subscription has at most {MAX_TRANSPORTS} destinations")

    cdef void list_held(self):
        self.held_count = 0
        for transport in self.transports:
            self.held[self.held_count] = <void*> transport
            self.held_count += 1

    def hold(self, ReceiveTransport transport not None):
        """Record a transport; only methods of the receiver call this."""
        if transport.index in self._transports:
            raise ConfigurationError(f"there is a transport of index {transport.index} already")
        self._transports[transport.index] = transport

    def drop(self, ReceiveTransport transport not None):
        """Forget a transport; only methods of the receiver call this."""
        if self._transports.get(transport.index) is not transport:
            raise ConfigurationError(f"transport {transport.index} is not of this endpoint")
        del self._transports[transport.index]
