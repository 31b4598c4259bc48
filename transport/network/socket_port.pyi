import socket
from typing import Self

from aerolog.transport.network.port import DatagramPort

class SocketPort(DatagramPort):
    @classmethod
    def of(
        cls,
        sender: socket.socket,
        receiver: socket.socket,
        *,
        segmentation: bool = False,
        coalescing: bool = False,
        timestamps: bool = False,
        ttl: int = 0,
    ) -> Self: ...
    @property
    def ttl(self) -> int: ...
    @property
    def send_buffer_length(self) -> int: ...
    @property
    def receive_buffer_length(self) -> int: ...
    @property
    def segmentation(self) -> bool: ...
    @property
    def coalescing(self) -> bool: ...
