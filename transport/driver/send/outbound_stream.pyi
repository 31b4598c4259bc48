from aerolog.transport.driver.send.send_context import SentStream
from aerolog.transport.driver.send.send_endpoint import SendEndpoint
from aerolog.transport.network.port import Address

class OutboundStream(SentStream):
    endpoint: SendEndpoint
    is_response: bool
    response_correlation_id: int
    @property
    def response_address(self) -> Address | None: ...
