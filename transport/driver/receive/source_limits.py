"""How many images a sender's host may have, and how many of them it may begin in a second.

A SETUP costs a stranger 40 bytes and the driver a log, counters and commands to clients. The
reference has no such bound. Ports do not count, because a stranger chooses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final

from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from aerolog.transport.network.port import Address

#: Hosts whose rates are remembered; of more, those that were heard longest ago begin anew.
_HOSTS_MAX: Final = 4096


def host_of(source: Address) -> str:
    """The host of an address; of IPv6 the network, because one host may have all of its addresses.

    A mapped IPv4 address is that host's.
    """
    text = source[0].partition("%")[0]
    if ":" not in text:
        return text
    address = IPv6Address(text)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{IPv6Address(int(address) >> 64 << 64)}/64"


@dataclass(slots=True)
class _Host:
    images: int = 0
    allowance: float = 0.0  # images that it may begin at `at_ns`
    at_ns: int = 0


class SourceLimits:
    """The limits of images by the host that sends them; conductor only.

    Args:
        images_max: images of one host, 0 for any number.
        rate_max: images that one host may begin in a second, 0 for any number. A host that has
            been quiet for a second may begin as many at once.
    """

    def __init__(self, images_max: int, rate_max: int) -> None:
        self._images_max = images_max
        self._rate_max = rate_max
        self._hosts: dict[str, _Host] = {}

    def refusal(self, host: str, now_ns: int) -> str | None:
        """Return why a host may not begin an image now; None when it may, and has begun it."""
        if not self._images_max and not self._rate_max:
            return None
        known = self._hosts.get(host)
        if known is None:
            known = self._hosts[host] = _Host(allowance=self._rate_max, at_ns=now_ns)
            self._forget_some(now_ns)
        if self._images_max and known.images >= self._images_max:
            return f"has {known.images} images, aerolog.driver.source.images.max allows no more"
        if self._rate_max:
            since_s = (now_ns - known.at_ns) / NS_PER_S
            known.allowance = min(self._rate_max, known.allowance + since_s * self._rate_max)
            known.at_ns = now_ns
            if known.allowance < 1:
                return (
                    f"begins more than {self._rate_max} images in a second,"
                    " aerolog.driver.source.image.rate allows no more"
                )
            known.allowance -= 1
        known.images += 1
        return None

    def ended(self, host: str) -> None:
        """Count an image less of a host."""
        known = self._hosts.get(host)
        if known is not None:
            known.images -= 1

    def _forget_some(self, now_ns: int) -> None:
        """Forget hosts without images that may begin as many as a new one."""
        if len(self._hosts) <= _HOSTS_MAX:
            return
        for host, known in list(self._hosts.items()):
            if not known.images and now_ns - known.at_ns >= NS_PER_S:
                del self._hosts[host]
