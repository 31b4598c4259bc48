from collections.abc import Sequence

from aerolog.transport.driver.receive.data_packet_dispatcher import DataPacketDispatcher
from aerolog.transport.driver.receive.receive_transport import ReceiveTransport, TransportSet

class ReceiveEndpoint(TransportSet):
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
    ) -> None: ...
    @property
    def transports(self) -> tuple[ReceiveTransport, ...]: ...
    @property
    def dispatcher(self) -> DataPacketDispatcher: ...
    def free_index(self) -> int: ...
    def hold(self, transport: ReceiveTransport) -> None: ...
    def drop(self, transport: ReceiveTransport) -> None: ...
    @property
    def channel_timestamp_offset(self) -> int: ...
    @property
    def media_timestamp_offset(self) -> int: ...
    @property
    def stamps(self) -> bool: ...
