"""The ``stat`` command's forms: columns, JSON, AeronStat's."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.tools.command_line.java_error import NUMBER_FORMAT, PATTERN_SYNTAX
from aerolog.tools.stat.counter_filters import NAMES, Filters
from aerolog.tools.stat.watched_driver import WatchedDriver
from aerolog.tools.terminal.schedule import StyledLine, write_lines
from aerolog.tools.terminal.terminal_text import fit_json, write_fit
from aerolog.tools.views import cluster_counters, counter_keys
from aerolog.tools.views.cluster_counters import VALUE_NAMES, value_name
from aerolog.tools.views.counter_rates import Rates
from aerolog.transport.counters.counter_types import CHANNEL_KEY, OF_STREAMS, CounterType
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from aerolog.tools.terminal.schedule import Schedule
    from aerolog.tools.views.counters_snapshot import CountersSnapshot

_HELP: Final = frozenset({"-?", "-h", "-help"})
_CHANNEL_TYPES: Final = frozenset(each for each in CounterType if each.key is CHANNEL_KEY)


def filters_of(arguments: Sequence[str], options: Mapping[str, str | None]) -> Filters:
    """Filters of both forms.

    Raises:
        typer.BadParameter: an argument that is none.
    """
    try:
        found = Filters.of(options)
        for argument in arguments:
            name, equals, pattern = argument.partition("=")
            if not equals or name not in NAMES:
                raise ConfigurationError(
                    f"{argument!r} is no filter: write NAME=REGEX with one of {', '.join(NAMES)}"
                )
            found = found.with_pattern(name, pattern)
    except ConfigurationError as error:
        import typer  # here, for what goes well should not wait for it

        raise typer.BadParameter(str(error)) from None
    return found


def show_once(aeron_dir: str | None, filters: Filters, *, as_json: bool) -> None:
    """Prints one look, for people or as JSON."""
    watched = WatchedDriver(aeron_dir)
    if as_json:
        sys.stdout.write(fit_json("".join(_document(watched, filters))))
    else:
        write_lines(_Columns(watched, filters, rates=False)())


def show(aeron_dir: str | None, filters: Filters, schedule: Schedule, *, as_json: bool) -> None:
    """Prints counters, for people or as JSON."""
    if not schedule.watch:
        show_once(aeron_dir, filters, as_json=as_json)
        return
    watched = WatchedDriver(aeron_dir)
    if as_json:
        schedule.show_json(lambda: _facts(watched, filters))
    else:
        schedule.show(_Columns(watched, filters, rates=True))


class _Columns:
    """Looks at a driver each time it is called."""

    def __init__(self, watched: WatchedDriver, filters: Filters, *, rates: bool) -> None:
        self._watched = watched
        self._filters = filters
        self._rates = rates
        self._previous: CountersSnapshot | None = None

    def __call__(self) -> Iterator[str]:
        snapshot = self._watched.refresh().counters()
        yield self._watched.heading(snapshot)
        rates = None if self._previous is None else Rates(self._previous, snapshot)
        speed = f" {'per second':>16}" if self._rates else ""
        yield StyledLine(f"{'id':>5} {'value':>26}{speed}  label")
        ids, values, labels = snapshot.ids, snapshot.values, snapshot.labels
        types = snapshot.type_ids
        for row in self._filters.rows(snapshot):
            if self._rates:
                rate = None if rates is None else rates.per_second(ids[row])
                speed = f" {rate:16,.0f}" if rate else " " * 17
            name = value_name(types[row], values[row]) if types[row] in VALUE_NAMES else ""
            named = f" [{name}]" if name else ""
            yield f"{ids[row]:5d} {values[row]:26,d}{speed}  {labels[row]}{named}"
        self._previous = snapshot


def _facts(watched: WatchedDriver, filters: Filters) -> dict[str, Any]:
    snapshot = watched.refresh().counters()
    counters = [_fields(snapshot, row) for row in filters.rows(snapshot)]
    return {**watched.facts(snapshot), "counters": counters}


def _document(watched: WatchedDriver, filters: Filters) -> Iterator[str]:
    """A JSON document with a counter a line: the standard encoder with indents is slow."""
    import json

    facts = _facts(watched, filters)
    counters = facts.pop("counters")
    head = json.dumps(facts, indent=2, ensure_ascii=False)
    yield head.removesuffix("\n}") + ',\n  "counters": ['
    separator = "\n    "
    for counter in counters:
        yield separator + json.dumps(counter, ensure_ascii=False)
        separator = ",\n    "
    yield "\n  ]\n}\n"


def _fields(snapshot: CountersSnapshot, row: int) -> dict[str, Any]:
    type_id = snapshot.type_ids[row]
    key = snapshot.key(row)
    fields: dict[str, Any] = {
        "id": snapshot.ids[row],
        "type_id": type_id,
        "value": snapshot.values[row],
        "label": without_secrets(snapshot.label(row)),
        "registration_id": snapshot.registration_ids[row],
        "owner_id": snapshot.owner_ids[row],
        "reference_id": snapshot.reference_ids[row],
        "key": key.rstrip(b"\0").hex(),
    }
    if type_id in OF_STREAMS:
        stream = counter_keys.stream_key(key)
        fields["session_id"] = stream.session_id
        fields["stream_id"] = stream.stream_id
        fields["channel"] = stream.channel
    elif type_id in _CHANNEL_TYPES:
        fields["channel"] = counter_keys.channel_key(key)
    elif type_id == ArchiveCounterType.RECORDING_POSITION:
        recording = counter_keys.recording_key(key)
        fields["recording_id"] = recording.recording_id
        fields["session_id"] = recording.session_id
        fields["archive_id"] = recording.archive_id
    else:
        _add_cluster(fields, type_id, key)
    return fields


def _add_cluster(fields: dict[str, Any], type_id: int, key: bytes) -> None:
    cluster_id = cluster_counters.cluster_id_of(type_id, key)
    if cluster_id is None:
        return
    fields["cluster_id"] = cluster_id
    service_id = cluster_counters.service_id_of(type_id, key)
    if service_id is not None:
        fields["service_id"] = service_id
    name = value_name(type_id, fields["value"])
    if name:
        fields["value_name"] = name


def classic(
    aeron_dir: str | None, arguments: Sequence[str], options: Mapping[str, str | None]
) -> None:
    """AeronStat: its arguments, its lines, its errors."""
    from aerolog.tools.stat import classic_lines as lines
    from aerolog.tools.stat.reference_conventions import open_view, uncaught
    from aerolog.tools.terminal.console import say

    if _HELP & set(arguments):
        write_fit(lines.STAT_USAGE.splitlines())
        return
    watch, delay_s = True, 1
    patterns = {name: pattern for name, pattern in options.items() if pattern is not None}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals:
            say(f"Arguments must be in name=pattern format: Invalid '{argument}'")
            return
        if name == "watch":
            watch = value.lower() == "true"
        elif name == "delay":
            delay_s = _whole_seconds(value)
        elif name in NAMES:
            patterns[name] = value
        else:
            say(f"Unrecognised argument: '{argument}'")
            return
    try:
        filters = Filters.of(patterns)
    except ConfigurationError as error:
        uncaught(PATTERN_SYNTAX, str(error))
    view = open_view(aeron_dir)
    while True:
        if watch:
            sys.stdout.write(lines.CLEAR_SCREEN)
        found = lines.stat(view, view.counters(), filters)
        write_fit(found)
        sys.stdout.flush()
        if not watch:
            return
        time.sleep(delay_s)


def _whole_seconds(text: str) -> int:
    from aerolog.tools.stat.reference_conventions import uncaught

    try:
        return max(0, int(text))
    except ValueError:
        uncaught(NUMBER_FORMAT, f'For input string: "{text}"')
