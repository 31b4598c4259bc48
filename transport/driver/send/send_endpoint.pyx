"""A send channel endpoint: one port and where it sends to (spec wire-protocol 3.1, 5.6, 12).

Several publications share one. The conductor makes it and closes its port; in between the sender
alone uses it.
"""

from libc.errno cimport ECONNREFUSED
from libc.stdint cimport INT64_MAX, int64_t
from libc.string cimport memset

from aerolog.transport.driver.send.send_destinations cimport SendDestinations, sending_t
from aerolog.transport.driver.send.shared_window cimport SharedWindow
from aerolog.transport.network.port cimport (
    DatagramPort,
    address_pair,
    address_t,
    is_transient,
    outgoing_t,
    set_address,
)
from aerolog.transport.network.socket_port cimport SocketPort

from aerolog.transport.errors import ConfigurationError

cdef enum:
    # Refusals by a peer that is not there that one send looks past.
    REFUSAL_LIMIT = 2

cdef int64_t _FAILURE_PERIOD_NS = 1_000_000_000


cdef class SendEndpoint:
    """A port and where it sends to.

    Args:
        port: open; whoever made the endpoint closes it when the sender has given it back.
        destinations: of a multi-destination endpoint.
        remote: address of the peer or the group; None with destinations or responses, and while
            its name is not resolved.
        is_connected: whether the port is connected to it.
        is_multicast: whether ``remote`` is a group.
        is_response: whether its publications answer, each to its own receiver.
        needs_resolution: whether ``remote`` came from a name.

    Raises:
        ConfigurationError: more than one of destinations, remote and responses is given.
    """

    def __init__(
        self,
        DatagramPort port not None,
        *,
        SendDestinations destinations: SendDestinations | None = None,
        remote=None,
        bint is_connected=True,
        bint is_multicast=False,
        bint is_response=False,
        bint needs_resolution=False,
    ):
        """Make an endpoint on an open port.

        Args:
            port: open; the conductor closes it after `EndpointReleased`.
            destinations: of a multi-destination endpoint.
            remote: address of the peer or the group, None with destinations or responses.
            is_connected: whether the port is connected to it (`aeron.driver.connect`, multicast).
            is_multicast: whether `remote` is a group.
            is_response: whether its publications answer (`control-mode=response`).
            needs_resolution: whether `remote` came from a name, so that `Unresolved` is of use.
        """
        if (destinations is not None) + (remote is not None) + is_response > 1:
            raise ConfigurationError(
                "an endpoint sends to destinations, to one remote address, or to whom it answers"
            )
        self.port = port
        # Ports around ports hold datagrams back that their descriptor knows nothing of.
        self.descriptor = port.descriptor() if isinstance(port, SocketPort) else -1
        self.destinations = destinations
        self.shared = SharedWindow()
        self.is_multicast = is_multicast
        self.is_response = is_response
        self.is_group = is_multicast or destinations is not None
        self.is_connected = is_connected
        self.needs_resolution = needs_resolution
        self.last_failure_ns = -INT64_MAX // 2
        set_address(&self.peer, remote)

    @property
    def remote(self):
        """The peer as last set, None for none; while the sender does not turn."""
        return address_pair(&self.peer)

    cdef int64_t transmit(
        self, const outgoing_t* messages, int count, const address_t* to, int64_t now_ns
    ) noexcept nogil:
        cdef sending_t sending
        cdef const address_t* target = NULL
        cdef int64_t length = 0
        cdef int refusals = 0
        cdef int result
        cdef int i
        memset(&sending, 0, sizeof(sending))
        for i in range(count):
            length += messages[i].length
        if self.destinations is not None:
            self.destinations.send(self.port, messages, count, length, now_ns, &sending)
            if sending.error != 0:
                self._note_failure(&sending, now_ns)
            return sending.bytes
        if self.is_response:
            target = to
        elif not self.is_connected:
            target = &self.peer
        if target != NULL and target.length == 0:
            return length  # nobody to send to, as without destinations
        while True:
            result = self.port.send(messages, count, target)
            # The port says so of an earlier datagram: this one is still to be sent.
            if result != -ECONNREFUSED or refusals == REFUSAL_LIMIT:
                break
            refusals += 1
        if result < 0 and not is_transient(result):
            sending.error = -result
            if target != NULL:
                sending.where = target[0]
            self._note_failure(&sending, now_ns)
        return self.port.sent_bytes

    cdef void _note_failure(self, const sending_t* sending, int64_t now_ns) noexcept nogil:
        if now_ns - self.last_failure_ns < _FAILURE_PERIOD_NS:
            return
        self.last_failure_ns = now_ns
        self.last_error = sending.error
        self.last_error_where = sending.where

    cdef void change_peer(self, const address_t* address, int64_t now_ns) noexcept nogil:
        cdef sending_t failed
        cdef int result
        self.peer = address[0]
        self.last_heard_ns = now_ns
        if self.is_connected:
            result = self.port.reconnect(address)
            if result < 0:
                memset(&failed, 0, sizeof(failed))
                failed.error = -result
                failed.where = address[0]
                self._note_failure(&failed, now_ns)
