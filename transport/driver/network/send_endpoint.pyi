from aerolog.transport.driver.network.send_destinations import SendDestinations
from aerolog.transport.driver.network.shared_window import SharedWindow
from aerolog.transport.network.port import Address, DatagramPort

class SendEndpoint:
    """One send channel endpoint: a port and where it sends to. Made by the conductor.

    Multi-destination: `destinations` is given. Response mode: `is_response`; each publication
    sends to where its receiver's eliciting status message came from. Else to `remote`, or to the
    connected peer.
    """

    def __init__(
        self,
        port: DatagramPort,
        *,
        destinations: SendDestinations | None = None,
        remote: Address | None = None,
        is_connected: bool = True,
        is_multicast: bool = False,
        is_response: bool = False,
        needs_resolution: bool = False,
    ) -> None:
        """Args:
        port: open; the conductor closes it after `EndpointReleased`.
        destinations: of a multi-destination endpoint.
        remote: address of the peer or the group, None with destinations or responses.
        is_connected: whether the port is connected to it (`aeron.driver.connect`, multicast).
        is_multicast: whether `remote` is a group.
        is_response: whether its publications answer (`control-mode=response`).
        needs_resolution: whether `remote` came from a name, so that `Unresolved` is of use.
        """
    is_multicast: bool
    is_response: bool
    needs_resolution: bool
    @property
    def port(self) -> DatagramPort: ...
    @property
    def destinations(self) -> SendDestinations | None: ...
    @property
    def shared(self) -> SharedWindow: ...
    @property
    def is_group(self) -> bool:
        """Multicast or multi-destination: group semantics."""
    @property
    def remote(self) -> Address | None:
        """The peer as last set; for tests while the sender does not turn."""
