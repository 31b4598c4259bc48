from aerolog.transport.driver.network.receiver_transports import ReceiverTransports

class Reception(ReceiverTransports):
    """What the receiver does with datagrams; see `Receiver`."""
