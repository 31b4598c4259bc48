"""Makes a driver's network lose, duplicate, reorder and delay datagrams as properties ask.

It also switches segmentation and receive offload off when a property says so. Three kinds of
properties ask for disturbance, and their effects add up:

- ``aeron.rehearse.send.data`` and its three siblings set loss, duplication, reordering and delay
  of one direction of send or receive endpoints, in aerolog's own notation (`rehearsal_options`).
- The debug endpoint suppliers of the reference lose datagrams at the rates and seeds given.
- The C driver's interceptors lose datagrams that arrive at any endpoint.

Data flows from sender to receiver and includes setups, heartbeats and echo requests. Control
flows from receiver to sender.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from aerolog.transport.driver import properties as p
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.network.drop_rules import RandomLoss
from aerolog.transport.network.networks import RehearsedNetwork, WrappedNetwork
from aerolog.transport.network.rehearsal import Disturbance
from aerolog.transport.network.rehearsal_options import interceptor_rule, parse_rehearsal

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.definition import Property
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.network.drop_rules import DropRule
    from aerolog.transport.network.networks import Network, PortOptions, SendPortOptions
    from aerolog.transport.network.port import Address, DatagramPort


class _Direction(NamedTuple):
    """The properties that disturb one direction of one kind of endpoint."""

    rehearsal: Property[str]
    supplier: Property[str]
    rate: Property[float]
    seed: Property[int]
    is_incoming: bool


#: The directions by their names as `RehearsedNetwork` takes them.
_DIRECTIONS: Final = {
    "send_data": _Direction(
        p.REHEARSE_SEND_DATA,
        p.SEND_CHANNEL_ENDPOINT_SUPPLIER,
        p.SEND_DATA_LOSS_RATE,
        p.SEND_DATA_LOSS_SEED,
        is_incoming=False,
    ),
    "send_control": _Direction(
        p.REHEARSE_SEND_CONTROL,
        p.SEND_CHANNEL_ENDPOINT_SUPPLIER,
        p.SEND_CONTROL_LOSS_RATE,
        p.SEND_CONTROL_LOSS_SEED,
        is_incoming=True,
    ),
    "receive_data": _Direction(
        p.REHEARSE_RECEIVE_DATA,
        p.RECEIVE_CHANNEL_ENDPOINT_SUPPLIER,
        p.RECEIVE_DATA_LOSS_RATE,
        p.RECEIVE_DATA_LOSS_SEED,
        is_incoming=True,
    ),
    "receive_control": _Direction(
        p.REHEARSE_RECEIVE_CONTROL,
        p.RECEIVE_CHANNEL_ENDPOINT_SUPPLIER,
        p.RECEIVE_CONTROL_LOSS_RATE,
        p.RECEIVE_CONTROL_LOSS_SEED,
        is_incoming=False,
    ),
}


def rehearsed(
    network: Network,
    settings: Settings,
    clock: Clock | None = None,
    random: Random | None = None,
) -> Network:
    """Return the network through which a driver opens the ports of its endpoints.

    Without any disturbance and with offload it is the given network itself. Each endpoint is
    disturbed independently: with a seed, the n-th datagram of a direction meets the same fate in
    every endpoint and every run.

    Args:
        network: the network that opens the ports.
        settings: the driver's configuration.
        clock: the clock that measures delays; the machine's when None.
        random: makes seeds where none is given; the system's source when None.

    Raises:
        ConfigurationError: a rehearsal that does not parse, or an unknown interceptor.
    """
    random = random or Random()  # noqa: S311 -- losses on purpose are no secret
    interceptor_rule(settings[p.OUTGOING_INTERCEPTORS], _arguments(settings))  # only checks them
    makers = {name: _maker(each, settings, random) for name, each in _DIRECTIONS.items()}
    wanted = {name: maker for name, maker in makers.items() if maker() is not None}
    if wanted:
        network = RehearsedNetwork(network, clock=clock, **wanted)
    return network if settings[p.NETWORK_OFFLOAD] else PlainNetwork(network)


class PlainNetwork(WrappedNetwork):
    """A network whose ports use neither segmentation offload nor receive offload."""

    def open_send_port(
        self, remote: Address | None, local: Address, **options: Unpack[SendPortOptions]
    ) -> DatagramPort:
        """Open a send port without segmentation offload; see ``sockets.open_send_port``."""
        options["offload"] = False
        return self._inner.open_send_port(remote, local, **options)

    def open_receive_port(
        self, endpoint: Address, interface: Address | None = None, **options: Unpack[PortOptions]
    ) -> DatagramPort:
        """Open a receive port without receive offload; see ``sockets.open_receive_port``."""
        options["offload"] = False
        return self._inner.open_receive_port(endpoint, interface, **options)


def _maker(
    direction: _Direction, settings: Settings, random: Random
) -> Callable[[], Disturbance | None]:
    """Return a function that makes the disturbance of one direction, or None for no disturbance."""

    def make() -> Disturbance | None:
        rules = [rule for rule in _rules(direction, settings, random) if rule is not None]
        for first, second in pairwise(rules):
            first.then(second)
        text = settings[direction.rehearsal]
        if text:
            return parse_rehearsal(text, also=rules[0] if rules else None)
        return Disturbance(rules[0]) if rules else None

    return make


def _rules(direction: _Direction, settings: Settings, random: Random) -> list[DropRule | None]:
    rules: list[DropRule | None] = []
    rate = settings[direction.rate]
    if settings[direction.supplier] == "debug" and rate != 0.0:
        seed = settings[direction.seed]
        if not 0.0 <= rate <= 1.0:
            raise ConfigurationError(f"{direction.rate.name}={rate} is no share: 0 to 1")
        rules.append(RandomLoss(rate, random.getrandbits(63) if seed == -1 else seed))
    if direction.is_incoming:
        rules.append(interceptor_rule(settings[p.INCOMING_INTERCEPTORS], _arguments(settings)))
    return rules


def _arguments(settings: Settings) -> dict[str, str]:
    given = {
        "loss": settings[p.LOSS_ARGS],
        "fixed-loss": settings[p.FIXED_LOSS_ARGS],
        "multi-gap-loss": settings[p.MULTI_GAP_LOSS_ARGS],
    }
    return {name: text for name, text in given.items() if text is not None}
