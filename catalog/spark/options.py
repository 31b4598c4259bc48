"""Options of the data source: parsed and checked once, then carried to where they are used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NoReturn, TypeVar

from aerolog.catalog.arrow.schema import COLUMN_NAMES
from aerolog.catalog.locations import Choice, open_place
from aerolog.catalog.object_store import CACHE_BYTES
from aerolog.catalog.times import ANY_TIME, FROM_INDEX, TimeRange, TimeSource
from aerolog.transport.config.times import parse_time_ns
from aerolog.transport.config.values import parse_size, whole_number
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.secrets import repr_without_secrets
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aerolog.archive.format.archive_folder import ArchiveFolder

Payload = Literal["none", "binary", "decoded"]
Rejects = Literal["apart", "inline", "fail"]
Table = Literal["rows", "rejects", "recordings"]

PARTITION_BYTES = 256 * 1024 * 1024
IDS_MAX = 100_000
_DECODER_PREFIX = "decoder."
_ANY = TypeVar("_ANY")


@repr_without_secrets
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The options of a read, in batch or in a stream.

    Attributes:
        archive: a place or the URL of a catalog.
        choice: which recordings are read.
        table: what is read: rows of recordings, the rejects of reading them, or the recordings
            themselves.
        payload: the form of messages in rows.
        columns: the names of the wanted columns, None for all.
        assemble: True makes a row of each message, False of each fragment.
        within: the range of rows' times, or of their recordings' times where rows have none.
        time_source: the source of ``record_time``.
        from_position: only rows behind this position are read.
        until_position: only rows up to this position are read.
        partition_bytes: the approximate bytes of stream in a partition.
        min_partitions: the least number of partitions when there is enough to read; None for the
            session's parallelism.
        skip_damage: True turns what cannot be read into rows of the rejects, False into an error.
        decoder: the decoder's name, for ``payload="decoded"``.
        decoder_options: the options for ``make_decoder``.
        rejects: what happens to messages that cannot be decoded: ``apart`` puts them in a table of
            their own, ``inline`` among the rows, and ``fail`` raises an error.
        cache_bytes: the limit in each Python worker of segments fetched from an object store.
        cache_dir: the folder of these segments.
        max_rows: the most rows of a micro-batch.
        max_bytes: the most bytes of stream in a micro-batch.
        from_latest: True lets a new stream begin at the recordings' present ends, False at their
            starts.
        fail_on_data_loss: whether a stream fails when data that it has not read yet is gone.
    """

    archive: str
    choice: Choice = field(default_factory=Choice)
    table: Table = "rows"
    payload: Payload = "binary"
    columns: tuple[str, ...] | None = None
    assemble: bool = True
    within: TimeRange = ANY_TIME
    time_source: TimeSource = FROM_INDEX
    from_position: int | None = None
    until_position: int | None = None
    partition_bytes: int = PARTITION_BYTES
    min_partitions: int | None = None
    skip_damage: bool = False
    decoder: str | None = None
    decoder_options: dict[str, str] = field(default_factory=dict)
    rejects: Rejects = "apart"
    cache_bytes: int = CACHE_BYTES
    cache_dir: str | None = None
    max_rows: int | None = None
    max_bytes: int | None = None
    from_latest: bool = False
    fail_on_data_loss: bool = True

    def open(self, place: str) -> ArchiveFolder:
        """Open an archive's folder; segments from an object store go to the options' cache."""
        return open_place(place, cache_bytes=self.cache_bytes, cache_dir=self.cache_dir)

    @property
    def wants_times(self) -> bool:
        """Whether the read needs rows' times."""
        if self.within or self.decoder is not None:
            return True
        return self.table == "rows" and "record_time" in self.scanned

    @property
    def scanned(self) -> tuple[str, ...]:
        """The columns to scan, in the schema's order."""
        everything = [name for name in COLUMN_NAMES if name != "payload" or self.payload != "none"]
        return tuple(name for name in everything if self.columns is None or name in self.columns)


def parse_options(
    given: Mapping[str, str],
    *,
    table: Table = "rows",
    columns: tuple[str, ...] | None = None,
    payload: Payload = "binary",
    parallelism: int | None = None,
) -> ReadOptions:
    """Parse the options that Spark passes.

    Args:
        given: name -> text; the case of names does not matter.
        table: the table of the short name that is read.
        columns: the columns of that short name, None for all.
        payload: the payload's form for that short name, when no option tells it.
        parallelism: the parallelism of the session.

    Raises:
        ConfigurationError: an option is unknown, missing, or malformed; the text names it.
    """
    texts = {name.lower(): text for name, text in given.items()}
    path = texts.pop("path", None)
    archive = texts.pop("archive", path)
    if not archive:
        raise ConfigurationError(
            "option archive is missing: an archive's folder, its URL in an object store, or the"
            " URL of a catalog"
        )
    decoder_options = {
        name.removeprefix(_DECODER_PREFIX): texts.pop(name)
        for name in list(texts)
        if name.startswith(_DECODER_PREFIX)
    }
    found = _Texts(texts)
    named = found.take("columns", _names)
    shown = found.take("payload", _payload) or payload
    decoder = found.take("decoder", str)
    if (shown == "decoded") != (decoder is not None) and table == "rows":
        raise ConfigurationError(
            "option payload=decoded goes with option decoder, which names one of json, text, …"
        )
    since, until = (found.take(name, _moment(name)) for name in ("since", "until"))
    time_source = found.take("timeSource", TimeSource.parse) or FROM_INDEX
    # Timestamps in messages are from another clock than the archive's.
    span = (since, until) if time_source.kind == "index" else (None, None)
    options = ReadOptions(
        archive=archive,
        choice=_choice(found, *span),
        table=table,
        payload=shown,
        columns=named or columns,
        assemble=(found.take("rows", _one_of("messages", "fragments")) or "messages") == "messages",
        within=TimeRange.of_ns(since, until),
        time_source=time_source,
        from_position=found.take("fromPosition", _number),
        until_position=found.take("untilPosition", _number),
        partition_bytes=found.take("partitionBytes", _size) or PARTITION_BYTES,
        min_partitions=found.take("minPartitions", _number) or parallelism,
        skip_damage=found.take("skipDamage", _truth) is True,
        decoder=decoder,
        decoder_options=decoder_options,
        rejects=found.take("rejects", _rejects) or "apart",
        cache_bytes=found.take("cacheBytes", _size) or CACHE_BYTES,
        cache_dir=found.take("cacheDir", str),
        max_rows=found.take("maxRows", _number),
        max_bytes=found.take("maxBytes", _size),
        from_latest=found.take("startingPositions", _one_of("earliest", "latest")) == "latest",
        fail_on_data_loss=found.take("failOnDataLoss", _truth) is not False,
    )
    found.expect_empty()
    _check(options)
    return options


def _moment(name: str) -> Callable[[str], int]:
    return lambda text: parse_time_ns(name, text)


def _choice(found: _Texts, since_ns: int | None, until_ns: int | None) -> Choice:
    return Choice(
        recording_ids=found.take("recordings", _ids),
        allow_unknown=found.take("unknownRecordings", _one_of("fail", "skip")) == "skip",
        session_ids=found.take("sessions", _ids),
        stream_id=found.take("stream", int),
        channel=found.take("channel", str),
        tags=found.take("tags", _tags) or {},
        name=found.take("name", str),
        state=found.take("state", _one_of("active", "stopped", "invalid", "deleted", "purged")),
        # A recording that stopped within that millisecond may have rows at its end.
        since_ms=None if since_ns is None else since_ns // NS_PER_MS,
        until_ms=None if until_ns is None else -(-until_ns // NS_PER_MS),
    )


def _check(options: ReadOptions) -> None:
    unknown = [name for name in options.columns or () if name not in COLUMN_NAMES]
    if unknown:
        raise ConfigurationError(
            f"option columns: there is no column {unknown[0]!r}; there are"
            f" {', '.join(COLUMN_NAMES)}"
        )
    if not options.scanned:
        raise ConfigurationError("option columns=payload and payload=none leave no column to read")
    if options.payload == "decoded" and options.columns is not None:
        raise ConfigurationError("option columns does not go with payload=decoded: use select")
    if options.payload == "decoded" and not options.assemble:
        raise ConfigurationError("option rows=fragments does not go with payload=decoded")
    for name in ("max_rows", "max_bytes", "min_partitions"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ConfigurationError(f"option {name.replace('_', '')} must be 1 or more: {value}")
    if options.choice.session_ids is not None and not options.assemble:
        raise ConfigurationError("option sessions does not go with rows=fragments")


class _Texts:
    """The options that have not been parsed yet."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts
        self._known: list[str] = []

    def take(self, name: str, parse: Callable[[str], _ANY]) -> _ANY | None:
        """Remove an option and return its value, None when it is not given."""
        self._known.append(name)
        text = self._texts.pop(name.lower(), None)
        if text is None:
            return None
        try:
            return parse(text.strip())
        except ValueError as error:
            raise ConfigurationError(f"option {name}={text!r}: {error}") from error

    def expect_empty(self) -> None:
        """Refuse options that were not taken."""
        if self._texts:
            raise ConfigurationError(
                f"there is no option {min(self._texts)}; there are archive,"
                f" {', '.join(sorted(self._known))} and {_DECODER_PREFIX}NAME"
            )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _payload(text: str) -> Payload:
    words: tuple[Payload, ...] = ("none", "binary", "decoded")
    return _one_of(*words)(text)


def _rejects(text: str) -> Rejects:
    words: tuple[Rejects, ...] = ("apart", "inline", "fail")
    return _one_of(*words)(text)


def _number(text: str) -> int:
    number = whole_number(text)
    if number is None:
        _refuse("not a whole number")
    return number


def _size(text: str) -> int:
    return parse_size("size", text)


def _truth(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        _refuse("must be true or false")
    return text.lower() == "true"


def _one_of(*words: _ANY) -> Callable[[str], _ANY]:
    def parse(text: str) -> _ANY:
        for word in words:
            if word == text.lower():
                return word
        _refuse(f"must be one of {', '.join(map(str, words))}")

    return parse


def _ids(text: str) -> tuple[int, ...]:
    """Parse ``1,2,5-9`` to numbers, which may be negative."""
    found: list[int] = []
    for part in _names(text):
        first, dash, last = part[1:].partition("-")
        low = int(part[0] + first)
        high = int(last) if dash else low
        if high - low >= IDS_MAX or len(found) + high - low >= IDS_MAX:
            _refuse(f"more than {IDS_MAX} ids")
        found.extend(range(low, high + 1))
    return tuple(dict.fromkeys(found))


def _tags(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in _names(text)]
    if any(not key or not equals for key, equals, _ in pairs):
        _refuse("must be key=value, several with commas between")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _refuse(problem: str) -> NoReturn:
    raise ValueError(problem)
