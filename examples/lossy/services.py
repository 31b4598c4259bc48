"""The driver near and the archiving driver far, as processes in their places."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from examples.driver_process import DriverProcess

if TYPE_CHECKING:
    from examples.lossy.wire import Place

PROPERTIES = {
    "aeron.counters.buffer.length": "1m",
    "aeron.publication.linger.timeout": "1s",
    "aeron.socket.so_rcvbuf": "2m",
    "aeron.socket.so_sndbuf": "2m",
    "aeron.rcv.initial.window.length": "1m",
}


def driver_at(place: Place, kind: str, properties: dict[str, str]) -> DriverProcess:
    """``aerolog driver`` or ``aerolog archiving-driver`` in a place."""
    prefix = f"aerolog-lossy-{os.getpid()}-"
    return DriverProcess(kind, PROPERTIES | properties, prefix, place.run_in)
