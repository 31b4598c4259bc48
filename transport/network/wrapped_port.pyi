from aerolog.transport.network.port import DatagramPort

class WrappedPort(DatagramPort):
    @property
    def inner(self) -> DatagramPort: ...
