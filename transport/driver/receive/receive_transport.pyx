"""The ports of a receive endpoint: one, or one for each destination with multi-destination.

Spec wire-protocol 8.2, 13. The conductor makes them; only the receiver attaches, uses and detaches
them.
"""

from libc.stdint cimport int32_t
from libc.string cimport memset

from aerolog.transport.errors import ConfigurationError

from aerolog.transport.network.port cimport DatagramPort, set_address
from aerolog.transport.network.socket_port cimport SocketPort

from aerolog.transport.network.port import Address


cdef class ReceiveTransport:
    """A port through which an endpoint receives and answers, with its channel's addresses."""
    def __init__(
        self,
        index: int,
        DatagramPort port not None,
        *,
        explicit_control: Address | None = None,
        control_group: Address | None = None,
    ) -> None:
        """Wrap a port, which the caller closes after the receiver has released the transport.

        Args:
            index: its index in the endpoint, 0 to MAX_TRANSPORTS - 1; 0 for the only one.
            port: the result of `Network.open_receive_port`.
            explicit_control: the channel's unicast `control`, from which setups are elicited once a
                second.
            control_group: the group of a multicast channel, to which all answers go.

        Raises:
            ConfigurationError: an index is out of range, or an address is not valid.
        """
        if not 0 <= index < MAX_TRANSPORTS:
            raise ConfigurationError(
                f"transport index is {index}; use 0 to {MAX_TRANSPORTS - 1}"
            )
        self.index = index
        self.port = port
        self.explicit_control = explicit_control
        self.control_group = control_group
        set_address(&self.group, control_group)
        set_address(&self.control, explicit_control)
        self.ttl = port.ttl
        # A wrapper may hold datagrams back that polling its descriptor does not show.
        self.descriptor = port.descriptor() if isinstance(port, SocketPort) else -1
        self.has_group = control_group is not None
        self.has_control = explicit_control is not None


cdef class TransportSet:
    """The transports of an endpoint, with the receiver id and group tag of their answers."""
    def __init__(
        self,
        receiver_id: int,
        *,
        group_tag: int | None = None,
        multi_destination: bool = False,
    ) -> None:
        self.receiver_id = receiver_id
        self.group_tag = group_tag
        self.is_tagged = group_tag is not None
        self.tag = 0 if group_tag is None else group_tag
        self.is_multi_destination = multi_destination
        memset(self._slots, 0, sizeof(self._slots))

    cdef void attach(self, ReceiveTransport transport) noexcept nogil:
        self._slots[transport.index] = <void*> transport
        self.slot_limit = max(self.slot_limit, transport.index + 1)
        self.transport_count += 1

    cdef void detach(self, int32_t index) noexcept nogil:
        if self._slots[index] is NULL:
            return
        self._slots[index] = NULL
        self.transport_count -= 1
        while self.slot_limit > 0 and self._slots[self.slot_limit - 1] is NULL:
            self.slot_limit -= 1
