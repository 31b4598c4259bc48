"""Bid, kill the node, go on, compare: ``python -m examples.auction [--out DIR] [--bids N]``.

Exit codes: 0 when no bid was lost or counted twice, 1 when one was, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.auction.bidder import Bidder
from examples.auction.node import PLACES
from examples.driver_process import interrupts_later, shared_memory_dir

from aerolog.cluster.client import AeronCluster
from aerolog.transport.client import Aeron
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OUT = Path(".cache") / "demo-cluster"
LOTS = ("vase", "clock", "painting", "piano")
BIDDERS = ("ann", "bob", "eve")
READY_S = 30.0


def free_port() -> int:
    """The first of as many UDP ports in a row as a node needs."""
    while True:
        with contextlib.ExitStack() as opened:
            first = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                for index in range(1, PLACES):
                    one = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                    one.bind(("127.0.0.1", port + index))
            except (OSError, OverflowError):
                continue
            return port


@contextlib.contextmanager
def node(out: Path, port: int, aeron_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """A running node; it is ended at the end of the block, if it has not been killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "examples.auction.node", str(out), str(port), str(aeron_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # an interrupt is for us to pass on
    )
    try:
        assert process.stdout is not None
        if "ready" not in process.stdout.readline():
            raise AerologError("the node did not start: see what it said above")
        yield process
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=READY_S)
        process.kill()
        process.wait()


def all_bids(count: int) -> dict[str, list[tuple[str, int]]]:
    """What each bidder will bid: lots and prices, the same in each run."""
    dice = random.Random(1766)
    return {
        name: [(dice.choice(LOTS), dice.randrange(1, 1_000_000)) for _ in range(count)]
        for name in BIDDERS
    }


def standings(bids: dict[str, list[tuple[str, int]]]) -> dict[str, tuple[int, int]]:
    """The highest price and the number of bids for each lot, counted here."""
    found = dict.fromkeys(LOTS, (0, 0))
    for placed in bids.values():
        for lot, price in placed:
            highest, number = found[lot]
            found[lot] = (max(highest, price), number + 1)
    return found


def bid_all(
    bidders: list[Bidder], bids: dict[str, list[tuple[str, int]]], begin: int, end: int
) -> None:
    """Let each bidder begin to place a part of its bids."""
    for each in bidders:
        with interrupts_later():  # until there is a thread that can be joined
            each.begin(bids[each.name][begin:end])


def run(out: Path, count: int) -> int:
    """The whole; 0 when the cluster's standings are those that were counted here."""
    begun = time.monotonic()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    bids, port = all_bids(count), free_port()
    home = Path(tempfile.mkdtemp(prefix="aerolog-auction-", dir=shared_memory_dir()))
    aeron_dir = home / "aeron"

    def connect() -> tuple[Aeron, AeronCluster]:
        # A bidder tells what it does not get over; that a driver is gone is nothing to log.
        aeron = Aeron(aeron_dir, driver_timeout=2, on_error=lambda _error: None)
        try:
            cluster = AeronCluster(
                aeron,
                ingress_channel="aeron:udp?term-length=64k",
                ingress_endpoints={0: f"localhost:{port}"},
                egress_channel="aeron:udp?endpoint=localhost:0|term-length=64k",
            )
        except BaseException:
            aeron.close()
            raise
        return aeron, cluster

    bidders = [Bidder(name, connect) for name in bids]
    half = count // 2
    try:
        with node(out, port, aeron_dir) as first:
            bid_all(bidders, bids, 0, half)
            for each in bidders:
                each.finish()
            _say(f"{len(bidders)} bidders have placed {half * len(bidders):,} bids", begun)
            aeron, cluster = connect()
            cluster.take_snapshot()
            cluster.close()
            aeron.close()
            _say("the node has taken a snapshot", begun)
            bid_all(bidders, bids, half, count)
            time.sleep(0.2)
            first.send_signal(signal.SIGKILL)
            first.wait()
            _say("kill -9 while they go on bidding", begun)
        with node(out, port, aeron_dir):
            _say("the node has started again", begun)
            for each in bidders:
                each.finish()
            again = sum(each.repeated for each in bidders)
            _say(f"the rest is placed; {again} bids had no answer and were repeated", begun)
            found = _ask(connect, bidders[0])
    finally:
        for each in bidders:
            each.close()
        shutil.rmtree(home, ignore_errors=True)
    wrong = 0
    for lot, (price, number) in standings(bids).items():
        told = found.get(lot, {"price": 0, "bids": 0, "bidder": ""})
        is_right = (told["price"], told["bids"]) == (price, number)
        wrong += not is_right
        verdict = "as counted here" if is_right else f"WRONG: {price:,}, {number:,} bids counted"
        figures = f"{told['price']:>9,} by {told['bidder']}, {told['bids']:,} bids"
        print(f"  {lot:<10}{figures}, {verdict}")
    print("no bid was lost, and none counts twice" if wrong == 0 else f"{wrong} lots are wrong")
    return 1 if wrong else 0


def _ask(
    connect: Callable[[], tuple[Aeron, AeronCluster]], asker: Bidder
) -> dict[str, dict[str, Any]]:
    """The standings, by questions."""
    found: dict[str, dict[str, Any]] = {}
    last = Bidder(asker.name, connect)
    try:
        for lot in LOTS:
            last.ask(lot)
        found.update(last.answers)
    finally:
        last.close()
    return found


def _say(text: str, begun: float) -> None:
    print(f"{time.monotonic() - begun:6.2f} s  {text}", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Run with the arguments of a command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.auction", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the node's files")
    parser.add_argument("--bids", type=int, default=10_000, help="how many bids each bidder places")
    given = parser.parse_args(arguments)
    try:
        return run(given.out, given.bids)
    except KeyboardInterrupt:
        return 130
    except AerologError as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
