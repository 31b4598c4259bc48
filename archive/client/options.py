"""The options of an archive client, checked, and the control channels that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from aerolog.archive.client.session_options import SessionOptions, read_options
from aerolog.archive.protocol import defaults
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.config.definition import Declare
from aerolog.transport.config.known_names import STRICT
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.time_units import NS_PER_S
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.protocol import RecordingSignalEvent
    from aerolog.transport.config.sources import Properties
    from aerolog.transport.credentials import CredentialsSupplier

REPLAY_STREAM_ID: Final = 40

_declare = Declare("aeron.archive.")

REQUEST_CHANNEL: Final = _declare.text(
    "aeron.archive.control.channel", "aeron:ipc", "where the archive listens",
    keyword="request_channel",
)  # fmt: skip
REQUEST_STREAM: Final = _declare.integer(
    "aeron.archive.control.stream.id", defaults.CONTROL_STREAM_ID, "stream of the requests",
    keyword="request_stream_id",
)  # fmt: skip
RESPONSE_CHANNEL: Final = _declare.text(
    "aeron.archive.control.response.channel", None,
    "where the archive shall answer; aeron:ipc with requests over IPC, else it has to be given",
    keyword="response_channel",
)  # fmt: skip
RESPONSE_STREAM: Final = _declare.integer(
    "aeron.archive.control.response.stream.id", defaults.RESPONSE_STREAM_ID,
    "stream of the responses", keyword="response_stream_id",
)  # fmt: skip
MESSAGE_TIMEOUT: Final = _declare.duration(
    "aeron.archive.message.timeout", defaults.MESSAGE_TIMEOUT_NS,
    "for one request, and for the whole of connecting", keyword="message_timeout",
)  # fmt: skip
RETRY_ATTEMPTS: Final = _declare.integer(
    "aeron.archive.message.retry.attempts", 3,
    "tries to send a request before it fails, with a turn of the idle strategy between them",
    keyword="message_retry_attempts",
)  # fmt: skip
TERM_LENGTH: Final = _declare.size(
    "aeron.archive.control.term.buffer.length", defaults.CONTROL_TERM_LENGTH,
    "terms of both control streams where their channels do not say", keyword="term_length",
)  # fmt: skip
TERM_SPARSE: Final = _declare.boolean(
    "aeron.archive.control.term.buffer.sparse", defaults.CONTROL_TERM_SPARSE,
    "sparse logs for both control streams where their channels do not say", keyword="sparse",
)  # fmt: skip
MTU: Final = _declare.size(
    "aeron.archive.control.mtu.length", defaults.CONTROL_MTU,
    "mtu of both control streams where their channels do not say", keyword="mtu",
)  # fmt: skip
NAME: Final = _declare.text("aeron.archive.client.name", "", "shown by the archive", keyword="name")

PROPERTIES: Final = (*_declare.table, STRICT)


@dataclass(slots=True, kw_only=True)
class ArchiveClientOptions(SessionOptions):
    """Everything that ``AeronArchive`` takes, checked (spec archive-protocol 21.1).

    ``of`` makes them and also reads the reference's properties.

    Attributes:
        request_channel: where the archive listens.
        response_channel: where the archive answers; None is aeron:ipc, for requests over IPC only.
        message_timeout: seconds for one request, and for the whole of connecting.
        message_retry_attempts: tries to send one request, at least 1.
        term_length: bytes of a term of both control streams, where their channels do not say.
        credentials: sent with the connect request, or a supplier of them, which is asked each time
            and answers an archive that asks for proof.
        on_challenge: makes the answer to an archive that asks for proof.
        replay_channel: where ``replay`` and ``read`` have replays published by default; None takes
            the medium and the host of the response channel.
        on_signal: called with each recording signal; it may not call the client.
        on_error: called with errors that belong to no request.
        agent_invoker: called in each round of waiting, to run other agents in the same thread.
    """

    _ASKER: ClassVar = "the archive"

    request_channel: str = REQUEST_CHANNEL.default
    request_stream_id: int = REQUEST_STREAM.default
    response_channel: str | None = RESPONSE_CHANNEL.default
    response_stream_id: int = RESPONSE_STREAM.default
    message_timeout: float = MESSAGE_TIMEOUT.default / NS_PER_S
    message_retry_attempts: int = RETRY_ATTEMPTS.default
    term_length: int = TERM_LENGTH.default
    mtu: int = MTU.default
    sparse: bool = TERM_SPARSE.default
    name: str = NAME.default
    credentials: bytes | CredentialsSupplier = field(default=b"", repr=False)
    replay_channel: str | None = None
    on_challenge: Callable[[bytes], bytes] | None = None
    on_signal: Callable[[RecordingSignalEvent], object] | None = None
    on_error: Callable[[BaseException], object] | None = None
    agent_invoker: Callable[[], object] | None = None
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
        read = read_options(PROPERTIES, properties, options, cls.__slots__, "an archive client")
        read["message_timeout"] /= NS_PER_S
        return cls(**read)

    def __post_init__(self) -> None:
        self._check_session()
        if self.message_retry_attempts < 1:
            raise ConfigurationError(
                "message_retry_attempts is at least 1, not " + str(self.message_retry_attempts)
            )
        if not isinstance(self.credentials, bytes) and self.on_challenge is not None:
            raise ConfigurationError("a supplier of credentials answers challenges itself")
        if self.response_channel is None:
            if ChannelUri.parse(self.request_channel).is_udp:
                raise ConfigurationError(
                    f"requests over {self.request_channel} need a response_channel that the"
                    " archive can reach, for example aeron:udp?endpoint=<this host>:0"
                )
            self.response_channel = "aeron:ipc"
        ChannelUri.parse(self.response_channel)
        if self.replay_channel is not None:
            ChannelUri.parse(self.replay_channel)

    @property
    def response_uri(self) -> ChannelUri:
        """The response channel, parsed."""
        assert self.response_channel is not None  # set when the options were checked
        return ChannelUri.parse(self.response_channel)

    @property
    def is_response_mode(self) -> bool:
        """Whether the archive answers through a response channel."""
        return self.response_uri.has_control_mode_response

    @property
    def default_replay_channel(self) -> str:
        """The channel of replays that are asked for without one."""
        if self.replay_channel is not None:
            return self.replay_channel
        response = self.response_uri
        if response.is_ipc:
            return "aeron:ipc"
        kept = {key: response[key] for key in ("interface", "control") if key in response}
        if self.is_response_mode:
            kept["control-mode"] = "response"
        elif "endpoint" in response:
            kept = {"endpoint": f"{_host(response['endpoint'])}:0", **kept}
        channel = ChannelUri.parse("aeron:udp")
        for key, value in kept.items():
            channel = channel.put(key, value)
        return str(channel)

    def control_channels(self, session_id: int | None) -> tuple[ChannelUri, ChannelUri]:
        """Request and response channel with the parameters that they lack.

        Args:
            session_id: the session id of both, by which clients can share an endpoint; None in
                response mode.
        """
        request, response = (
            self._with_defaults(uri)
            for uri in (ChannelUri.parse(self.request_channel), self.response_uri)
        )
        if session_id is not None:
            request = request.add_session_id(session_id)
            response = response.add_session_id(session_id)
        return request, response

    def _with_defaults(self, channel: ChannelUri) -> ChannelUri:
        defaults = {
            "term-length": str(self.term_length),
            "mtu": str(self.mtu),
            "sparse": "true" if self.sparse else "false",
        }
        for key, value in defaults.items():
            if key not in channel:
                channel = channel.put(key, value)
        return channel


def _host(endpoint: str) -> str:
    """The host of ``host:port``."""
    return endpoint.rpartition(":")[0]
