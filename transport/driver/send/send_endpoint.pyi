from aerolog.transport.driver.send.send_destinations import SendDestinations
from aerolog.transport.driver.send.shared_window import SharedWindow
from aerolog.transport.network.port import Address, DatagramPort

class SendEndpoint:
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
    ) -> None: ...
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
    def is_group(self) -> bool: ...
    @property
    def remote(self) -> Address | None: ...
