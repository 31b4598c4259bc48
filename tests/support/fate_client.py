"""A client of ours, or of a cluster, in a process of its own: `fates` says what becomes of it.

It sends itself a message for each line of its input, and ends with code 1 and the reason when its
client is closed. Arguments: the driver's directory, and a stream or a cluster's ingress endpoint.
"""

from __future__ import annotations

import select
import sys
import time
from typing import TYPE_CHECKING

from aerolog.cluster.client import AeronCluster
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable

_PAUSE_S = 0.005
_CHANNEL = "aeron:ipc"


Talk = tuple["Callable[[], bool]", "Callable[[], object]"]


def own_stream(aeron: Aeron, stream_id: int) -> Talk:
    """What sends a message to itself and tells whether it has come, and what is done meanwhile."""
    publication = aeron.add_publication(f"{_CHANNEL}?term-length=64k", stream_id)
    subscription = aeron.add_subscription(_CHANNEL, stream_id)
    publication.wait_connected(30, writable=True)
    return lambda: publication.offer(b"message") > 0 and came(subscription.poll_messages), bool


def session(aeron: Aeron, endpoint: str) -> Talk:
    """The same by way of a cluster's echo; a client that hears of no new leader is timed out."""
    cluster = AeronCluster(
        aeron,
        ingress_channel="aeron:udp",
        ingress_endpoints=f"0={endpoint}",
        egress_channel="aeron:udp?endpoint=localhost:0",
    )

    def talk() -> bool:
        cluster.send(b"message")
        return came(cluster.poll_messages)

    return talk, cluster.poll_messages


def came(poll: Callable[[], object], patience_s: float = 3.0) -> bool:
    """Whether a message comes."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if list(poll()):  # type: ignore[call-overload]
            return True
        time.sleep(_PAUSE_S)
    return False


def main(aeron_dir: str, where: str) -> int:
    """Runs until the client is closed or the input ends."""
    aeron = Aeron(aeron_dir, on_error=lambda _: None, keepalive_interval=0.1, driver_timeout=3)
    try:
        own = own_stream(aeron, int(where)) if where.isdigit() else None
        talk, meanwhile = own or session(aeron, where)
        print("ready", flush=True)
        while not aeron.closed:
            meanwhile()
            if select.select([sys.stdin], [], [], 0.01)[0]:
                if not sys.stdin.readline():
                    return 0
                print("heard" if talk() else "nothing", flush=True)
        reason: BaseException | None = aeron.close_reason
    except AerologError as error:
        reason = aeron.close_reason or error
    print(f"ERROR: {type(reason).__name__}: {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
