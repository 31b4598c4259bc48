"""Two network namespaces joined by a veth pair, where the machine permits it."""

import os
import subprocess
from dataclasses import dataclass
from typing import Self

from peer.process import run_quietly

LEFT, RIGHT = "10.71.9.1", "10.71.9.2"
LEFT6, RIGHT6 = "fd71:9::1", "fd71:9::2"


class NamespacesUnavailable(Exception):  # noqa: N818 (a reason, not a fault)
    """This process may not make network namespaces: the reason to skip with."""


@dataclass
class Wire:
    """The two namespaces; ``with`` makes them and removes them.

    Attributes:
        left: name of the namespace with the addresses ``LEFT`` and ``LEFT6``.
        right: name of the other one.
    """

    left: str = f"aerolog-{os.getpid()}-l"
    right: str = f"aerolog-{os.getpid()}-r"

    def inside(self, name: str) -> tuple[str, ...]:
        """The command in front of one that shall run in a namespace."""
        return ("ip", "netns", "exec", name)

    def __enter__(self) -> Self:
        try:
            self._make()
        except (OSError, subprocess.SubprocessError) as error:
            self.__exit__()
            raise NamespacesUnavailable(f"cannot make network namespaces: {error}") from None
        return self

    def _make(self) -> None:
        link = ("veth0", "veth1")
        run_quietly("ip", "netns", "add", self.left)
        run_quietly("ip", "netns", "add", self.right)
        run_quietly(
            *("ip", "-n", self.left, "link", "add", link[0], "type", "veth"),
            *("peer", "name", link[1], "netns", self.right),
        )
        for name, device, address, address6 in (
            (self.left, link[0], LEFT, LEFT6),
            (self.right, link[1], RIGHT, RIGHT6),
        ):
            run_quietly("ip", "-n", name, "addr", "add", f"{address}/24", "dev", device)
            run_quietly("ip", "-n", name, "addr", "add", f"{address6}/64", "dev", device, "nodad")
            run_quietly("ip", "-n", name, "link", "set", "lo", "up")
            run_quietly("ip", "-n", name, "link", "set", device, "up")

    def __exit__(self, *_: object) -> None:
        for name in (self.left, self.right):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
