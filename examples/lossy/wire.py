"""Two places with a network between them: namespaces where permitted, else loopback addresses."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from examples.driver_process import interrupts_later

if TYPE_CHECKING:
    from collections.abc import Iterator

NEAR_ADDRESS, FAR_ADDRESS = "10.77.30.1", "10.77.30.2"
NEAR_LOOPBACK, FAR_LOOPBACK = "127.0.0.1", "127.0.0.2"
FIRST_PORT = 20_301


@dataclass
class Place:
    """One end of the wire.

    Attributes:
        name: for messages.
        address: at which the other end reaches it.
        namespace: of its network, None for the machine's own.
    """

    name: str
    address: str
    namespace: str | None = None
    _ports: Iterator[int] = field(default_factory=lambda: itertools.count(FIRST_PORT))

    @property
    def run_in(self) -> tuple[str, ...]:
        """The words before a command that is to run in this place."""
        return () if self.namespace is None else ("ip", "netns", "exec", self.namespace)

    def endpoint(self) -> str:
        """Address and UDP port that nothing uses."""
        if self.namespace is not None:  # there is nobody but us
            return f"{self.address}:{next(self._ports)}"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((self.address, 0))
            return f"{self.address}:{probe.getsockname()[1]}"


@dataclass(frozen=True)
class Wire:
    """Both ends, and what is between them in words."""

    near: Place
    far: Place
    description: str


@contextmanager
def joined(*, loopback: bool) -> Iterator[Wire]:
    """Make the wire, and remove it afterwards.

    Args:
        loopback: make no namespaces, whether or not they are permitted.
    """
    refusal = "asked for" if loopback else _refusal()
    if refusal:
        yield Wire(
            Place("near", NEAR_LOOPBACK),
            Place("far", FAR_LOOPBACK),
            f"two loopback addresses, {NEAR_LOOPBACK} and {FAR_LOOPBACK} ({refusal})",
        )
        return
    near = Place("near", NEAR_ADDRESS, f"aerolog-near-{os.getpid()}")
    far = Place("far", FAR_ADDRESS, f"aerolog-far-{os.getpid()}")
    made: list[Place] = []
    try:
        for place in (near, far):
            with interrupts_later():
                _ip("netns", "add", str(place.namespace))
                made.append(place)
        _connect(near, far)
        yield Wire(
            near,
            far,
            f"two network namespaces joined by a veth pair, {NEAR_ADDRESS} and {FAR_ADDRESS}",
        )
    finally:
        for place in made:
            _ip("netns", "del", str(place.namespace))


def _connect(near: Place, far: Place) -> None:
    inside = ("-n", str(near.namespace))
    veth = ("link", "add", "wire0", "type", "veth", "peer", "name", "wire0")
    _ip(*inside, *veth, "netns", str(far.namespace))
    for place in (near, far):
        inside = ("-n", str(place.namespace))
        _ip(*inside, "addr", "add", f"{place.address}/24", "dev", "wire0")
        _ip(*inside, "link", "set", "lo", "up")
        _ip(*inside, "link", "set", "wire0", "up")


def _refusal() -> str:
    """Why there can be no namespaces, empty when there can: found by making one."""
    if shutil.which("ip") is None:
        return "there is no ip command"
    probe = f"aerolog-probe-{os.getpid()}"
    try:
        _ip("netns", "add", probe)
    except OSError as error:
        return f"no namespaces: {error}"
    try:
        _ip("-n", probe, "link", "add", "wire0", "type", "veth", "peer", "name", "wire1")
    except OSError as error:
        return f"no veth pairs: {error}"
    finally:
        _ip("netns", "del", probe)
    return ""


def _ip(*arguments: str) -> None:
    """Run ``ip``.

    Raises:
        OSError: it failed; says what it said.
    """
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.strip() or f"ip {' '.join(arguments)} failed")
