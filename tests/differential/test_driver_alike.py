"""The same steps on our driver and on the reference's: all that they say and leave is alike."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from driver_pair import DriverPair, Side
from driver_tools import DriverTools
from left_files import assert_same_lines
from random_driver_steps import DriverScript
from random_seeds import seeds

from aerolog.transport.protocol import commands as c

if TYPE_CHECKING:
    from collections.abc import Iterator

    from left_driver import DriverDirectory

    from aerolog.transport.protocol import responses as r

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference"), pytest.mark.error_log("")]


@pytest.fixture(scope="module")
def tools(reference: object) -> Iterator[DriverTools]:
    with DriverTools() as found:
        yield found


def assert_tools_say_the_same(pair: DriverPair, tools: DriverTools) -> None:
    """All tools on copies of both directories."""
    copies: list[DriverDirectory] = []

    def left(side: Side) -> dict[str, list[str]]:
        copies[len(copies) % 2 :] = [side.copied()]
        found = copies[-1].left()
        del found["files"]
        return found

    pair.alike("copies were made", left)
    theirs, ours = map(tools.say, copies)
    for tool, lines in theirs.items():
        assert_same_lines(ours[tool], lines, tool)


DESTINATIONS = (
    "aeron:tcp",
    "aeron:udp?a|b=1",
    "aeron:udp?endpoint=localhost:{p}",
    "aeron:udp?endpoint=localhost:{p}|mtu=1408",
    "aeron:udp?endpoint=localhost:0",
    "aeron:udp?endpoint=localhost",
    "aeron:udp?control-mode=response|control=localhost:{p}",
    "aeron:udp",
    "aeron:ipc",
    "aeron-spy:aeron:ipc",
    "aeron-spy:aeron:udp?endpoint=localhost:{p}",
)
CHANNELS = (
    "aeron:ipc?session-id=7|init-term-id=0|term-id=0|term-offset=0",
    "aeron:udp?endpoint=localhost:{p}|session-id=7|init-term-id=0|term-id=0|term-offset=0",
    "aeron:udp?control-mode=manual|session-id=7|init-term-id=0|term-id=0|term-offset=0",
)
UNKNOWN = 987_654


def test_destinations_of_every_kind_on_channels_of_every_kind(tools: DriverTools) -> None:
    """Of two faults, either driver answers the same one."""
    with DriverPair() as pair:

        def ask(kind: Any, port: int, channel: str, *words: int) -> int:
            def make(side: Side) -> r.Response:
                return side.do(
                    0, lambda i, n: kind(i, n, *words, channel.format(p=side.ports[port]))
                )

            theirs, ours = pair.each(make)
            assert theirs.correlation_id == ours.correlation_id
            return int(ours.correlation_id)

        # On streams and ports of their own, so that no image comes at a time of its own.
        published = [ask(c.AddPublication, 0, channel, 1001) for channel in CHANNELS]
        subscribed = [ask(c.AddSubscription, 1, channel, 1002) for channel in CHANNELS]
        for channel in DESTINATIONS:
            for kinds, ids in (
                ((c.AddDestination, c.RemoveDestination), published),
                ((c.AddReceiveDestination, c.RemoveReceiveDestination), subscribed),
            ):
                for kind, registration_id in product(kinds, (UNKNOWN, *ids)):
                    ask(kind, 2, channel, registration_id)
        pair.alike("all destinations")
        assert_tools_say_the_same(pair, tools)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", seeds(0, 40))
def test_random_steps(tools: DriverTools, seed: int) -> None:
    """Not in quick runs: whether a publication lingers when a driver ends depends on the time."""
    with DriverPair() as pair:
        DriverScript(pair, Random(seed)).run()
        assert_tools_say_the_same(pair, tools)
        pair.each(Side.stop)
        pair.alike("the end of both")
