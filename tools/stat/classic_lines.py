"""Lines of AeronStat, ErrorStat, LossStat and DriverTool (spec stat-tools 2, 3, 4, 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.tools.stat.reference_conventions import file_path
from aerolog.tools.terminal.local_time import local_time, time_of_day
from aerolog.tools.terminal.terminal_text import fit_error
from aerolog.transport.memory.error_text import format_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aerolog.tools.stat.counter_filters import Filters
    from aerolog.tools.views.counters_snapshot import CountersSnapshot
    from aerolog.tools.views.driver_view import DriverView, LossEntry, ObservedError

CLEAR_SCREEN: Final = "\x1b[2J\x1b[H"
STAT_USAGE: Final = """\
Usage: [-Daeron.dir=<directory containing CnC file>] AeronStat
\t[delay=<seconds between updates>]
\t[watch=<true|false>]
filter by optional regex patterns:
\t[type=<pattern>]
\t[identity=<pattern>]
\t[session=<pattern>]
\t[stream=<pattern>]
\t[channel=<pattern>]"""
DRIVER_USAGE: Final = """\
Usage: [-Daeron.dir=<directory containing CnC file>] DriverTool <pid> <terminate>
    pid: prints PID of driver only
    terminate: request the driver to terminate"""
LOSS_HEADING: Final = (
    "#OBSERVATION_COUNT,TOTAL_BYTES_LOST,FIRST_OBSERVATION,LAST_OBSERVATION,"
    "SESSION_ID,STREAM_ID,CHANNEL,SOURCE"
)
_RULE: Final = "=" * 70
_PID_MASK: Final = 0xFFFFFFFF


def stat(view: DriverView, snapshot: CountersSnapshot, filters: Filters) -> Iterator[str]:
    """The lines of one update of AeronStat."""
    age = view.heartbeat_age_ms(snapshot.taken_ms)
    yield (
        f"{time_of_day(snapshot.taken_ms)} - Aeron Stat (CnC v{view.version_text}), "
        f"pid {_pid(view)}, heartbeat age {age:,}ms"
    )
    yield _RULE
    width = len(str(view.cnc.counters.max_counter_id))
    ids, values = snapshot.ids, snapshot.values
    for row in filters.rows(snapshot):
        yield f"{ids[row]:{width}d}: {values[row]:26,d} - {snapshot.label(row)}"
    yield "--"


def errors(observed: Iterable[ObservedError]) -> Iterator[str]:
    """Records of ErrorStat, behind its first line."""
    count = 0
    for seen in observed:
        count += 1
        yield ""
        yield (
            f"{seen.count} observations from {format_time(seen.first_ms)} to "
            f"{format_time(seen.last_ms)} for:"
        )
        yield from fit_error(seen.text).split("\n")
    yield ""
    yield f"{count} distinct errors observed."


def losses(entries: Iterable[LossEntry]) -> Iterator[str]:
    """The lines of LossStat."""
    yield LOSS_HEADING
    count = 0
    for entry in entries:
        count += 1
        yield (
            f"{entry.observation_count},{entry.total_bytes_lost},"
            f"{format_time(entry.first_observation_ms)},{format_time(entry.last_observation_ms)},"
            f"{entry.session_id},{entry.stream_id},{entry.channel},{entry.source}"
        )
    yield f"{count} loss entries"


def driver(view: DriverView, aeron_dir: str | None, now_ms: int) -> Iterator[str]:
    """The lines of DriverTool."""
    yield f"Command `n Control file: {file_path(aeron_dir)}"
    yield f"Version: {view.version}, PID: {view.pid}"
    yield (
        f"{time_of_day(now_ms)} (start: {local_time(view.start_ms)}, "
        f"activity: {local_time(view.heartbeat_ms())})"
    )


def _pid(view: DriverView) -> int:
    """The low 32 bits, signed, as the reference's tool has them."""
    low = view.pid & _PID_MASK
    return low - (_PID_MASK + 1) if low > _PID_MASK >> 1 else low
