"""`ChannelUri`: a channel as an immutable mapping of its parameters (spec client 19, 20)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from aerolog.transport.config.values import parse_size
from aerolog.transport.errors import ChannelUriError
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT
from aerolog.transport.uri.keys import (
    ALIAS,
    BY_KEY,
    BY_KEYWORD,
    CONTROL,
    CONTROL_MODE,
    CONTROL_MODE_RESPONSE,
    ENDPOINT,
    INIT_TERM_ID,
    INTERFACE,
    IPC_MEDIA,
    PARAMETERS,
    SESSION_ID,
    SPY_QUALIFIER,
    TAG_PREFIX,
    TAGS,
    TERM_ID,
    TERM_LENGTH,
    TERM_OFFSET,
    UDP_MEDIA,
    Parameter,
)
from aerolog.transport.uri.parameter_values import (
    ParameterValue,
    check_position_triple,
    wrapped_int32,
    written,
)
from aerolog.transport.uri.parser import parse_channel
from aerolog.transport.uri.reference_order import reference_order, render

_KEY_ORDER = {parameter.key: index for index, parameter in enumerate(PARAMETERS)}
_RECORDING_KEYS = (ENDPOINT, INTERFACE, CONTROL, SESSION_ID, TAGS)


class ChannelUri(Mapping[str, str]):
    """A channel: prefix, media, and parameters by key, values as text.

    Immutable, hashable and picklable; equal when prefix, media and parameters are. `parse` takes
    any channel that the reference's parser takes; `ipc` and `udp` build one from keyword
    arguments in snake case, whose values are checked at once. `str()` of a parsed channel writes
    the parameters in the reference's order, of a built one in the builder's fixed order.
    """

    __slots__ = ("_built", "_media", "_params", "_prefix")

    def __init__(
        self, media: str, params: Mapping[str, str], *, prefix: str = "", built: bool = False
    ) -> None:
        self._prefix = prefix
        self._media = media
        self._params = dict(params)
        self._built = built

    @classmethod
    def parse(cls, channel: str | ChannelUri) -> ChannelUri:
        """Splits a channel into its parts; syntax only, as the reference (spec channel-uri 3).

        Raises:
            ChannelUriError: with the reference's text.
        """
        if isinstance(channel, ChannelUri):
            return channel
        prefix, media, params = parse_channel(channel)
        return cls(media, params, prefix=prefix)

    @classmethod
    def ipc(cls, **params: ParameterValue) -> ChannelUri:
        """Builds a shared-memory channel, e.g. ``ChannelUri.ipc(term_length="64k")``.

        Sizes are bytes or text (``"64k"``), durations seconds, timedelta or text (``"5s"``);
        None leaves a parameter out.

        Raises:
            ChannelUriError: an unknown keyword, or a value out of range.
        """
        return cls(IPC_MEDIA, {}, built=True).replace(**params)

    @classmethod
    def udp(cls, endpoint: str | None = None, **params: ParameterValue) -> ChannelUri:
        """Builds a network channel; see `ipc` for values.

        Raises:
            ChannelUriError: as for `ipc`, or if the channel has no destination: one of endpoint,
                control, tags or control_mode is needed.
        """
        uri = cls(UDP_MEDIA, {}, built=True).replace(endpoint=endpoint, **params)
        if not any(key in uri for key in (ENDPOINT, CONTROL, TAGS, CONTROL_MODE)):
            raise ChannelUriError("either 'endpoint' or 'control' must be specified for UDP.")
        return uri

    @property
    def prefix(self) -> str:
        """``"aeron-spy"``, or ``""``."""
        return self._prefix

    @property
    def media(self) -> str:
        """``"ipc"`` or ``"udp"``; if there are parameters, the parser accepts any text."""
        return self._media

    @property
    def is_ipc(self) -> bool:
        """Whether the media is shared memory."""
        return self._media == IPC_MEDIA

    @property
    def is_udp(self) -> bool:
        """Whether the media is the network."""
        return self._media == UDP_MEDIA

    @property
    def is_spy(self) -> bool:
        """Whether the channel has the spy prefix."""
        return self._prefix == SPY_QUALIFIER

    @property
    def channel_tag(self) -> str | None:
        """First element of ``tags``, as text."""
        return self._tag(0)

    @property
    def entity_tag(self) -> str | None:
        """Second element of ``tags``, as text."""
        return self._tag(1)

    @property
    def is_session_id_tagged(self) -> bool:
        """Whether ``session-id`` is ``tag:N``: the session of the publication with that tag."""
        return self._params.get(SESSION_ID, "").startswith(TAG_PREFIX)

    @property
    def has_control_mode_response(self) -> bool:
        """Whether ``control-mode`` is ``response``."""
        return self._params.get(CONTROL_MODE) == CONTROL_MODE_RESPONSE

    @property
    def initial_position(self) -> int | None:
        """Position given by the term parameters and ``term-length``; None if one is missing.

        Raises:
            ChannelUriError: if one of them is not a number or is out of range.
        """
        keys = (INIT_TERM_ID, TERM_ID, TERM_OFFSET, TERM_LENGTH)
        if any(key not in self._params for key in keys):
            return None
        built = self.build()
        term_count = wrapped_int32(int(built[TERM_ID]) - int(built[INIT_TERM_ID]))
        term_length = parse_size(TERM_LENGTH, built[TERM_LENGTH])
        return term_count * term_length + int(built[TERM_OFFSET])

    def spy(self) -> ChannelUri:
        """The same channel with the spy prefix."""
        return self._with(self._params, prefix=SPY_QUALIFIER)

    def without_prefix(self) -> ChannelUri:
        """The same channel without the spy prefix."""
        return self._with(self._params, prefix="")

    def replace(self, **params: ParameterValue) -> ChannelUri:
        """Sets and checks parameters by keyword in snake case; None removes a parameter.

        Raises:
            ChannelUriError: if a keyword is unknown or a value is out of range.
        """
        changed = dict(self._params)
        for keyword, value in params.items():
            parameter = _parameter(keyword)
            if value is None:
                changed.pop(parameter.key, None)
            else:
                changed[parameter.key] = written(parameter, value)
        if self._built:
            check_position_triple(changed)
        return self._with(changed)

    def put(self, key: str, value: str) -> ChannelUri:
        """Sets one parameter by key; only the syntax of key and value is checked.

        Raises:
            ChannelUriError: if the key is empty, or key or value has a character that ends it.
        """
        if not key or "=" in key or "|" in key or "|" in value:
            raise ChannelUriError(f"not a parameter: {key!r}={value!r}")
        return self._with({**self._params, key: value})

    def remove(self, *keys: str) -> ChannelUri:
        """Removes parameters by key; keys that the channel does not have are ignored."""
        return self._with({k: v for k, v in self._params.items() if k not in keys})

    def with_position(
        self, position: int, initial_term_id: int, term_length: int | str
    ) -> ChannelUri:
        """Sets the three term parameters and ``term-length`` for a start at a position.

        Raises:
            ChannelUriError: if the position is negative or unaligned, or the term length invalid.
        """
        text = written(BY_KEY[TERM_LENGTH], term_length)
        length = parse_size(TERM_LENGTH, text)
        if position < 0:
            raise ChannelUriError(f"invalid position={position} < 0")
        if position % FRAME_ALIGNMENT:
            raise ChannelUriError(
                f"invalid position={position} does not have frame alignment={FRAME_ALIGNMENT}"
            )
        term_count, offset = divmod(position, length)
        if term_count >= 1 << 31:
            raise ChannelUriError(f"invalid position={position} for term length {length}")
        return self._with(
            {
                **self._params,
                INIT_TERM_ID: written(BY_KEY[INIT_TERM_ID], initial_term_id),
                TERM_ID: str(wrapped_int32(initial_term_id + term_count)),
                TERM_OFFSET: str(offset),
                TERM_LENGTH: text if self._built else str(length),
            }
        )

    def add_session_id(self, session_id: int) -> ChannelUri:
        """Return the same channel with this session id."""
        return self.replace(session_id=session_id)

    def add_alias_if_absent(self, alias: str) -> ChannelUri:
        """Return the same channel with this alias, unless it has one or the alias is empty."""
        return self if not alias or ALIAS in self._params else self.replace(alias=alias)

    def create_destination(self, endpoint: str) -> ChannelUri:
        """Returns a destination at another endpoint; it keeps only media and interface."""
        uri = ChannelUri(self._media, {}, built=True)
        return uri.replace(endpoint=endpoint, interface=self._params.get(INTERFACE))

    def replace_endpoint_wildcard_port(self, resolved_endpoint: str) -> ChannelUri:
        """Puts the port that the system chose where the endpoint has port 0, or no endpoint.

        Raises:
            ChannelUriError: if the resolved endpoint has no port, or port 0.
        """
        _, colon, port = resolved_endpoint.rpartition(":")
        if not colon:
            raise ChannelUriError(f"No port specified on resolvedEndpoint={resolved_endpoint}")
        if port == "0":
            raise ChannelUriError(
                f"Wildcard port specified on resolvedEndpoint={resolved_endpoint}"
            )
        endpoint = self._params.get(ENDPOINT)
        if endpoint is None:
            return self.put(ENDPOINT, resolved_endpoint)
        if endpoint.endswith(":0"):
            return self.put(ENDPOINT, f"{endpoint[:-1]}{port}")
        return self

    def build(self) -> ChannelUri:
        """Returns the channel as the reference's builder writes it.

        It has only known parameters, each checked and in its shortest form, in the fixed order.

        Raises:
            ChannelUriError: if the builder refuses media, prefix or a value.
        """
        if self._media not in (IPC_MEDIA, UDP_MEDIA):
            raise ChannelUriError(f"invalid media: {self._media}")
        params = {
            parameter.key: written(parameter, self._params[parameter.key])
            for parameter in PARAMETERS
            if parameter.key in self._params
        }
        return ChannelUri(self._media, params, prefix=self._prefix, built=True)

    def validate(self) -> ChannelUri:
        """Checks that the parameters agree with each other; returns the channel itself.

        Raises:
            ChannelUriError: if a network channel has no destination, or a position is incomplete.
        """
        built = self.build()
        if self._media == UDP_MEDIA and ENDPOINT not in self and CONTROL not in self:
            raise ChannelUriError("either 'endpoint' or 'control' must be specified for UDP.")
        check_position_triple(dict(built))
        return self

    def strip(self) -> ChannelUri:
        """Returns the archive's stripped channel, with only the parameters that identify it.

        See spec channel-uri 22.

        Raises:
            ChannelUriError: if the builder refuses a value.
        """
        kept = {p.key: self._params[p.key] for p in PARAMETERS if p.stripped and p.key in self}
        return ChannelUri(self._media, kept).build()

    def recording_key(self, stream_id: int) -> str:
        """Returns the archive's key of a recorded channel and stream (spec channel-uri 22)."""
        parts = [f"{key}={self._params[key]}" for key in _RECORDING_KEYS if key in self._params]
        return f"{stream_id}:{self._media}" + ("?" + "|".join(parts) if parts else "")

    def __getitem__(self, key: str) -> str:
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ordered())

    def __len__(self) -> int:
        return len(self._params)

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def __str__(self) -> str:
        return render(self._prefix, self._media, self._params, self._ordered())

    def __repr__(self) -> str:
        return f"ChannelUri.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChannelUri):
            return NotImplemented
        return (
            self._prefix == other._prefix
            and self._media == other._media
            and self._params == other._params
        )

    def __hash__(self) -> int:
        return hash((self._prefix, self._media, frozenset(self._params.items())))

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._media, self._params, self._prefix, self._built)

    def _with(self, params: Mapping[str, str], prefix: str | None = None) -> ChannelUri:
        if prefix is None:
            prefix = self._prefix
        return ChannelUri(self._media, params, prefix=prefix, built=self._built)

    def _ordered(self) -> list[str]:
        if self._built:
            return sorted(self._params, key=lambda key: _KEY_ORDER.get(key, len(_KEY_ORDER)))
        return reference_order(self._params)

    def _tag(self, index: int) -> str | None:
        tags = self._params.get(TAGS)
        if tags is None:
            return None
        elements = tags.split(",")
        return elements[index] if index < len(elements) else None


def _restore(media: str, params: dict[str, str], prefix: str, built: bool) -> ChannelUri:
    return ChannelUri(media, params, prefix=prefix, built=built)


def _parameter(keyword: str) -> Parameter:
    parameter = BY_KEYWORD.get(keyword)
    if parameter is None:
        known = ", ".join(sorted(p.key.replace("-", "_") for p in PARAMETERS))
        raise ChannelUriError(f"unknown parameter {keyword!r}; known are {known}")
    return parameter
