"""The options of a cluster's client, checked (spec configuration 16, spec cluster 8)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from aerolog.archive.client.session_options import SessionOptions, read_options
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.config.definition import Declare
from aerolog.transport.config.known_names import STRICT
from aerolog.transport.config.values import INT32_MAX, whole_number
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.time_units import NS_PER_S
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.cluster.protocol import NewLeaderEvent, SessionEvent
    from aerolog.transport.config.sources import Properties
    from aerolog.transport.credentials import CredentialsSupplier


_declare = Declare("aeron.cluster.")

INGRESS_CHANNEL: Final = _declare.text(
    "aeron.cluster.ingress.channel", None, "where the cluster listens", keyword="ingress_channel"
)
INGRESS_ENDPOINTS: Final = _declare.text(
    "aeron.cluster.ingress.endpoints", None, "members, as ID=HOST:PORT,...",
    keyword="ingress_endpoints",
)  # fmt: skip
INGRESS_STREAM: Final = _declare.integer(
    "aeron.cluster.ingress.stream.id", 101, "stream of the ingress", keyword="ingress_stream_id"
)
EGRESS_CHANNEL: Final = _declare.text(
    "aeron.cluster.egress.channel", None, "where the cluster shall answer",
    keyword="egress_channel",
)  # fmt: skip
EGRESS_STREAM: Final = _declare.integer(
    "aeron.cluster.egress.stream.id", 102, "stream of the egress", keyword="egress_stream_id"
)
MESSAGE_TIMEOUT: Final = _declare.duration(
    "aeron.cluster.message.timeout", 5 * NS_PER_S,
    "for the whole of connecting, and for a message that is sent", keyword="message_timeout",
)  # fmt: skip
NAME: Final = _declare.text("aeron.cluster.client.name", "", "shown by the cluster", keyword="name")

PROPERTIES: Final = (*_declare.table, STRICT)


#: An endpoint, or a name that the driver's resolver knows.
_ENDPOINT: Final = re.compile(r"[^\s|]+")
#: Of signs of life, seconds.
_LONGEST_INTERVAL: Final = 86_400


@dataclass(slots=True, kw_only=True)
class ClusterClientOptions(SessionOptions):
    """Everything that ``AeronCluster`` takes, checked.

    ``of`` makes them and also reads the reference's properties.

    Attributes:
        ingress_channel: where the cluster listens; with ``ingress_endpoints`` the rest of the
            channel of each member.
        ingress_endpoints: ``ID=HOST:PORT,...`` of the members, or a mapping of ids to endpoints;
            None for a single or multicast ingress, and for IPC.
        egress_channel: where the cluster answers; port 0 lets the system choose.
        message_timeout: seconds for the whole of connecting, and for ``send``.
        name: shown by the cluster, at most 100 characters.
        is_ingress_exclusive: whether the client has an ingress log of its own. Otherwise it shares
            one with the other clients of its driver that do not have their own, which then wait for
            each other and may send in each other's sessions.
        keepalive_interval: seconds between two signs of life, which the client gives by itself,
            also while other code holds the interpreter's lock; 0 for none.
        credentials: sent with the connect request, or a supplier of them, which is asked each time
            and answers a cluster that asks for proof.
        on_challenge: makes the answer to a cluster that asks for proof.
        on_new_leader: called with each NewLeaderEvent, once the client follows it.
        on_session_event: called with SessionEvents that come after the session is open.
    """

    _ASKER: ClassVar = "the cluster"

    ingress_channel: str
    ingress_endpoints: Mapping[int, str] | str | None = None
    ingress_stream_id: int = INGRESS_STREAM.default
    egress_channel: str
    egress_stream_id: int = EGRESS_STREAM.default
    message_timeout: float = MESSAGE_TIMEOUT.default / NS_PER_S
    name: str = NAME.default
    is_ingress_exclusive: bool = True
    keepalive_interval: float = 1.0
    credentials: bytes | CredentialsSupplier = field(default=b"", repr=False)
    on_challenge: Callable[[bytes], bytes] | None = None
    on_new_leader: Callable[[NewLeaderEvent], object] | None = None
    on_session_event: Callable[[SessionEvent], object] | None = None
    clock: Clock = field(default_factory=SystemClock)

    @classmethod
    def of(cls, *, properties: Properties | None = None, **options: Any) -> Self:
        """Make options: keywords come before properties, and properties before defaults.

        Args:
            properties: values by the reference's property names; the environment when None.
            options: attributes of this class; a value of None counts as not given.

        Raises:
            ConfigurationError: unknown options, or values that cannot be used.
        """
        if "ingress_endpoints" in options:
            options["ingress_endpoints"] = _endpoints_text(options["ingress_endpoints"])
        read = read_options(PROPERTIES, properties, options, cls.__slots__, "a cluster's client")
        for prop in (INGRESS_CHANNEL, EGRESS_CHANNEL):
            if not read[prop.keyword]:
                raise ConfigurationError(f"a cluster's client needs {prop.keyword} ({prop.name})")
        read["message_timeout"] /= NS_PER_S
        return cls(**read)

    def __post_init__(self) -> None:
        self._check_session()
        interval = self.keepalive_interval
        if not (isinstance(interval, int | float) and 0 <= interval <= _LONGEST_INTERVAL):
            raise ConfigurationError(
                "keepalive_interval is a number of seconds up to a day, 0 for no signs of life, not"
                f" {interval!r}"
            )
        if ChannelUri.parse(self.ingress_channel).is_ipc and self.ingress_endpoints:
            raise ConfigurationError("ingress over IPC has no ingress_endpoints: leave one out")
        self.endpoints()
        ChannelUri.parse(self.egress_channel)
        if not isinstance(self.is_ingress_exclusive, bool):
            raise ConfigurationError(
                f"is_ingress_exclusive is True or False, not {self.is_ingress_exclusive!r}"
            )
        if not isinstance(self.credentials, bytes) and not hasattr(
            self.credentials, "encoded_credentials"
        ):  # they are a secret, and not shown
            raise ConfigurationError(
                "credentials are bytes or a supplier with encoded_credentials, not"
                f" {type(self.credentials).__name__}"
            )
        for name in ("on_challenge", "on_new_leader", "on_session_event"):
            handler = getattr(self, name)
            if handler is not None and not callable(handler):
                raise ConfigurationError(f"{name} is a function, not {handler!r:.200}")

    def endpoints(self) -> dict[int, str]:
        """The members' endpoints by their ids, empty for an ingress without endpoints.

        Raises:
            ConfigurationError: the text cannot be read.
        """
        found = self.ingress_endpoints
        if not found:
            return {}
        return parse_endpoints(found) if isinstance(found, str) else dict(found)

    @property
    def keepalive_interval_ns(self) -> int:
        """The interval of signs of life in nanoseconds."""
        return round(self.keepalive_interval * NS_PER_S)


def _endpoints_text(given: object) -> str | None:
    """The text of endpoints that are given as a keyword."""
    if given is None:
        return None
    if not isinstance(given, str | Mapping):
        raise ConfigurationError(
            "ingress_endpoints are a text, ID=HOST:PORT,..., or a mapping of member ids to"
            f" endpoints, not {given!r:.200}"
        )
    if isinstance(given, str):
        parse_endpoints(given)
        return given
    text = ",".join(f"{member}={endpoint}" for member, endpoint in given.items())
    if parse_endpoints(text) != given:
        raise ConfigurationError(
            f"ingress_endpoints={given!r:.200} do not map whole numbers to texts HOST:PORT"
        )
    return text


def parse_endpoints(text: str) -> dict[int, str]:
    """Endpoints by member id of ``ID=HOST:PORT,...`` (spec cluster 20).

    Raises:
        ConfigurationError: a part is not of that form, or names a member again.
    """
    found: dict[int, str] = {}
    for part in text.removesuffix(",").split(","):
        member, _, endpoint = part.partition("=")
        number = whole_number(member, INT32_MAX)
        if number is None or _ENDPOINT.fullmatch(endpoint) is None:
            raise ConfigurationError(
                f"{part!r:.80} in ingress endpoints {text!r:.200} is not ID=HOST:PORT,"
                " without spaces"
            )
        if number in found:
            raise ConfigurationError(f"ingress endpoints {text!r:.200} name member {number} twice")
        found[number] = endpoint
    return found
