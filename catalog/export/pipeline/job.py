"""Jobs and their TOML files. A file is checked as a whole before anything is done.

::

    name = "orders"                       # marks are kept under it
    catalog = "${AEROLOG_CATALOG}"        # URL; by default the one in archive-dir
    archive-dir = "archive"               # looked at before the recordings are chosen
    time-source = "index"                 # of record_time; or channel, reserved, none, an offset

    [recordings]                          # conditions, as of `aerolog catalog search`
    stream = 1001

    [decode]
    decoder = "json"                      # and its options

    [[rules]]
    name = "delay"
    expression = "dep_delay BETWEEN -120 AND 2000"

    [output]
    to = "lake/orders"

    [spark]
    master = "local[*]"

Paths are relative to the file. ``${NAME}`` in a text is the environment's variable of that name.
"""

from __future__ import annotations

import os
import re
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.export.pipeline.errors import JobFileError
from aerolog.catalog.times import FROM_INDEX, TimeSource
from aerolog.transport.config.values import parse_size
from aerolog.transport.errors import AerologError, ConfigurationError
from aerolog.transport.memory.filesystem import read_at_most
from aerolog.transport.secrets import hidden_in, repr_without_secrets, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: What happens to a row that breaks a rule: it is rejected, counted and kept, or it ends the run.
ON_BROKEN: Final = ("reject", "keep", "fail")
ON_PURGED: Final = ("report", "fail")
COMPRESSIONS: Final = ("zstd", "snappy", "gzip", "lz4", "none")
FORMATS: Final = ("parquet", "iceberg")
FILE_MAX: Final = 1024 * 1024
UNIT_BYTES: Final = 256 * 1024 * 1024
#: When more than this share of a run's messages is rejected, the decoder is taken to be wrong.
REJECTED_MAX: Final = 0.5

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
#: A shorter value is no secret, and would be found within words.
_SECRET_MIN: Final = 4
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition that rows must meet.

    Attributes:
        name: of the rule in reports and in the reasons of rejects.
        expression: of Spark SQL, over the columns. A row passes when it is true, and not when it is
            null.
        on_broken: see ``ON_BROKEN``.
    """

    name: str
    expression: str
    on_broken: str = "reject"


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class Output:
    """The output of a job.

    Attributes:
        to: folder or URL.
        date_column: name of the partition column.
        date: Spark SQL expression of a row's date; None for the day (UTC) of its ``record_time``,
            and where that is not known the day on which its recording began.
        compression: of the Parquet files.
        compression_level: None for its default.
        unit_bytes: about how many bytes of recordings one task reads.
        rejected_max: share of messages of a run that may be rejected, 0 to 1.
        skip_damage: whether what is behind damage is loaded, and each gap becomes a reject; else
            damage ends the run.
        on_purged: ``report``, or ``fail`` when something was purged before it was read.
    """

    to: str
    date_column: str = "date"
    date: str | None = None
    compression: str = "zstd"
    compression_level: int | None = None
    unit_bytes: int = UNIT_BYTES
    rejected_max: float = REJECTED_MAX
    skip_damage: bool = False
    on_purged: str = "report"


@dataclass(frozen=True, slots=True, repr=False)
class Job:
    """The content of a job file.

    Attributes:
        path: of the file.
        name: of the job, under which its marks are kept.
        catalog: URL of the SQL catalog, None for the one in ``archive_dir``.
        archive_dir: archive folder that is brought into the catalog first, None for none.
        sync: whether local archives are looked at again before recordings are chosen.
        conditions: by which recordings are searched in the catalog.
        decoder: name of the decoder.
        decoder_options: options of the decoder.
        rules: in the order of the file.
        output: of the rows.
        master: URL of the Spark master.
        spark_conf: configuration of the Spark session.
        time_source: of rows' times, see `TimeSource`.
        variables: the values of the environment's variables that the file names.
    """

    path: str
    name: str
    output: Output
    catalog: str | None = None
    archive_dir: str | None = None
    sync: bool = True
    conditions: Mapping[str, Any] = field(default_factory=dict)
    decoder: str = "raw"
    decoder_options: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    master: str = "local[*]"
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    time_source: TimeSource = FROM_INDEX
    variables: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        values = ", ".join(
            f"{one.name}={getattr(self, one.name)!r}"
            for one in fields(self)
            if one.name != "variables"
        )
        return without_secrets(self.as_written(f"Job({values})"))

    def as_written(self, text: str) -> str:
        """A text with ``${NAME}`` in place of the values of variables, which may be secrets."""
        return _as_written(text, self.variables)


@contextmanager
def variables_named(variables: Mapping[str, str]) -> Iterator[None]:
    """Put ``${NAME}`` in place of the values of variables in errors, with their causes."""
    try:
        yield
    except Exception as error:
        hidden_in(error, lambda text: _as_written(text, variables))
        raise


def load_job(
    path: str | Path, *, catalog: str | None = None, archive_dir: str | None = None
) -> Job:
    """Read a job file.

    Args:
        path: of the job file.
        catalog: URL that replaces the one in the file.
        archive_dir: folder that replaces the one in the file.

    Raises:
        JobFileError: not TOML, an unknown or missing key, a value that cannot be used.
    """
    shown = str(path)
    try:
        content = read_at_most(path, FILE_MAX)
        document = tomllib.loads(content.decode())
    except ConfigurationError as error:
        raise JobFileError(shown, None, f"is longer than {FILE_MAX} bytes") from error
    except OSError as error:
        raise JobFileError(shown, None, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise JobFileError(shown, None, f"is not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:  # tomllib raises them for overlong numbers, depth
        raise JobFileError(shown, None, f"is not TOML: {error}") from error
    given = {"catalog": catalog, "archive-dir": archive_dir and str(Path(archive_dir).absolute())}
    return parse_job(
        document | {key: value for key, value in given.items() if value is not None}, shown
    )


def parse_job(document: dict[str, Any], path: str) -> Job:
    """A job from a parsed document; errors as ``load_job`` has."""
    variables: dict[str, str] = {}
    with variables_named(variables):
        return _parsed(document, path, variables)


def _parsed(document: dict[str, Any], path: str, variables: dict[str, str]) -> Job:
    top = _Table(path, "", document, variables)
    home = Path(os.path.realpath(path)).parent
    catalog = top.text("catalog")
    archive_dir = top.text("archive-dir")
    if catalog is None and archive_dir is None:
        raise top.error("archive-dir", "is missing; name the archive's folder, or a catalog's URL")
    decode = top.table("decode")
    spark = top.table("spark")
    job = Job(
        path=path,
        name=top.matching("name", _NAME, "letters, digits, '.', '_' and '-'"),
        catalog=None if catalog is None else _sqlite_beside(catalog, home),
        archive_dir=None if archive_dir is None else _beside(archive_dir, home),
        sync=top.flag("sync", True),
        time_source=_time_source(top),
        variables=variables,
        conditions=_conditions(top.table("recordings").rest()),
        decoder=decode.text("decoder", "raw") or "raw",
        decoder_options=_decoder_options(decode, home),
        rules=tuple(_rule(table) for table in top.tables("rules")),
        output=_output(top.table("output"), home),
        master=spark.text("master", "local[*]") or "local[*]",
        spark_conf={
            key: _text_of(value) for key, value in _flat(spark.table("conf").rest()).items()
        },
    )
    spark.done()
    top.done()
    names = [rule.name for rule in job.rules]
    for name in names:
        if names.count(name) > 1:
            raise JobFileError(path, "rules", f"two rules have the name {name!r}")
    return job


def _conditions(given: Mapping[str, Any]) -> dict[str, Any]:
    """Conditions of a search; dates and times of TOML as the same texts, which are local ones."""
    return {
        name: value.isoformat() if isinstance(value, date) else value
        for name, value in given.items()
    }


def _time_source(table: _Table) -> TimeSource:
    text = table.text("time-source", "index") or ""
    try:
        return TimeSource.parse(text)
    except AerologError as error:
        raise table.error("time-source", str(error)) from error


def _output(table: _Table, home: Path) -> Output:
    to = table.text("to")
    if not to:
        raise table.error("to", "is missing; name a folder or the URL of one")
    level = table.integer("compression-level", low=1, high=22)
    if table.choice("format", FORMATS, "parquet") == "iceberg":
        raise table.error(
            "format",
            "'iceberg' needs an Iceberg runtime made for the Spark in use, and there is none for"
            " Spark 4.3 yet (docs/catalog/pipeline.md); write parquet",
        )
    output = Output(
        to=_beside(to, home),
        date_column=table.matching("date-column", _COLUMN, "letters, digits and '_'", "date"),
        date=table.text("date"),
        compression=table.choice("compression", COMPRESSIONS, "zstd"),
        compression_level=level,
        unit_bytes=table.size("unit-bytes", UNIT_BYTES),
        rejected_max=table.share("rejected-max", REJECTED_MAX),
        skip_damage=table.flag("skip-damage", False),
        on_purged=table.choice("on-purged", ON_PURGED, "report"),
    )
    table.done()
    return output


def _rule(table: _Table) -> Rule:
    name = table.matching("name", _NAME, "letters, digits, '.', '_' and '-'")
    expression = table.text("expression")
    if not expression or not expression.strip():
        raise table.error("expression", "is missing; write a condition in Spark SQL")
    rule = Rule(name, expression, table.choice("on-broken", ON_BROKEN, "reject"))
    table.done()
    return rule


def _decoder_options(table: _Table, home: Path) -> dict[str, str]:
    """Options as strings. Paths of files are made relative to the folder of the job file."""
    options = {key: _text_of(value) for key, value in table.rest().items()}
    for key, value in options.items():
        beside = home / value
        if not Path(value).is_absolute() and _is_file(beside):
            options[key] = str(beside)
    return options


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text that is no path: too long, or with a null in it
        return False


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one with dotted keys, such as ``spark.executor.memory``."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def _beside(place: str, home: Path) -> str:
    return place if _URL.match(place) else str(Path(os.path.normpath(home / place)))


def _sqlite_beside(url: str, home: Path) -> str:
    scheme = "sqlite:///"
    if not url.startswith(scheme) or url.startswith(f"{scheme}/") or url == scheme:
        return url
    return f"{scheme}{_beside(url.removeprefix(scheme), home)}"


def _as_written(text: str, variables: Mapping[str, str]) -> str:
    # The longest first: one value may be a part of another.
    for name, value in sorted(variables.items(), key=lambda one: -len(one[1])):
        for shown in {value, repr(value)[1:-1]} if len(value) >= _SECRET_MIN else ():
            text = text.replace(shown, f"${{{name}}}")
    return text


class _Table:
    """A table of the document. Keys are taken one by one, so that unknown keys are left over."""

    def __init__(
        self, path: str, prefix: str, values: Mapping[str, Any], variables: dict[str, str]
    ) -> None:
        self._path = path
        self._prefix = prefix
        self._variables = variables
        self._values = {key: self._filled(key, value) for key, value in values.items()}
        self._known: list[str] = []

    def error(self, key: str, problem: str) -> JobFileError:
        return JobFileError(self._path, self._prefix + key, problem)

    def _filled(self, key: str, value: Any) -> Any:
        """The value with variables of the environment in place of their names."""
        if isinstance(value, dict):
            return {name: self._filled(f"{key}.{name}", one) for name, one in value.items()}
        if not isinstance(value, str):
            return value

        def variable(match: re.Match[str]) -> str:
            found = os.environ.get(match[1])
            if found is None:
                raise self.error(key, f"the environment has no variable {match[1]}; set it")
            self._variables[match[1]] = found
            return found

        return _VARIABLE.sub(variable, value)

    def _take(self, key: str, kind: type | tuple[type, ...], called: str) -> Any:
        self._known.append(key)
        value = self._values.pop(key, None)
        wrong = isinstance(value, bool) and kind is not bool
        if value is not None and (wrong or not isinstance(value, kind)):
            raise self.error(key, f"{value!r} is not {called}")
        return value

    def text(self, key: str, default: str | None = None) -> str | None:
        value: str | None = self._take(key, str, "a text")
        return default if value is None else value

    def flag(self, key: str, default: bool) -> bool:
        value: bool | None = self._take(key, bool, "true or false")
        return default if value is None else value

    def integer(self, key: str, *, low: int, high: int) -> int | None:
        value: int | None = self._take(key, int, "a whole number")
        if value is not None and not low <= value <= high:
            raise self.error(key, f"{value} is not between {low} and {high}")
        return value

    def share(self, key: str, default: float) -> float:
        value: float | None = self._take(key, (int, float), "a number")
        if value is not None and not 0 <= value <= 1:
            raise self.error(key, f"{value} is not between 0 and 1")
        return default if value is None else float(value)

    def size(self, key: str, default: int) -> int:
        value = self._take(key, (int, str), "a size, such as 256m")
        if value is None:
            return default
        try:
            size = parse_size(self._prefix + key, str(value))
        except AerologError:
            # Its text has a part of the value, which may be that of a variable.
            raise self.error(key, f"{value!r} is not a size, such as 256m") from None
        if size < 1:
            raise self.error(key, f"{value!r} must be more than 0")
        return size

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        value = self.text(key, default) or ""
        if value not in choices:
            raise self.error(key, f"{value!r} is not one of {', '.join(choices)}")
        return value

    def matching(
        self, key: str, pattern: re.Pattern[str], called: str, default: str | None = None
    ) -> str:
        value = self.text(key, default)
        if value is None:
            raise self.error(key, "is missing")
        if not pattern.fullmatch(value):
            raise self.error(key, f"{value!r} may have {called} only, at most 100")
        return value

    def table(self, key: str) -> _Table:
        values = self._take(key, dict, "a table")
        return _Table(self._path, f"{self._prefix}{key}.", values or {}, self._variables)

    def tables(self, key: str) -> list[_Table]:
        values = self._take(key, list, f"a list of tables ([[{key}]])") or []
        for value in values:
            if not isinstance(value, dict):
                raise self.error(key, f"{value!r} is not a table ([[{key}]])")
        return [
            _Table(self._path, f"{self._prefix}{key}[{index}].", value, self._variables)
            for index, value in enumerate(values)
        ]

    def rest(self) -> dict[str, Any]:
        """The values that were not taken."""
        left, self._values = self._values, {}
        return left

    def done(self) -> None:
        for key in self._values:
            raise self.error(key, f"no such key; there are {', '.join(self._known)}")
