"""``aerolog doctor``: what is wrong with a driver, an archive and a cluster, or will be."""

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.tools.command_line.help import CONNECTION_PANEL, command
from aerolog.tools.command_line.options import (
    JsonOption,
    StrictOption,
    aeron_dir_option,
    seconds_option,
)

if TYPE_CHECKING:
    from aerolog.tools.doctor.doctor_report import Report
    from aerolog.tools.doctor.examination import Examination
    from aerolog.tools.doctor.findings import Severity
    from aerolog.tools.doctor.system_snapshot import SystemSnapshot

app = typer.Typer(add_completion=False)

_INTERVAL_S = 1.0


class _FailOn(StrEnum):
    """From which severity on the exit code says so."""

    NOTICE = "notice"
    WARNING = "warning"
    CRITICAL = "critical"
    NEVER = "never"


@command(
    app,
    examples=(
        "doctor",
        "doctor --archive-dir archive --deep",
        "doctor --archive-dir archive --cluster-dir aeron-cluster",
        "doctor --json --fail-on critical --ignore cycle-was-slow",
        "doctor --watch --interval 5s",
    ),
)
def doctor(
    *,
    aeron_dir: Annotated[
        str | None,
        aeron_dir_option(
            "The media driver's directory; by default that of the archive or the cluster.",
            rich_help_panel=CONNECTION_PANEL,
        ),
    ] = None,
    archive_dir: Annotated[
        str | None,
        typer.Option("--archive-dir", metavar="DIR", help="Look at this archive's folder, too."),
    ] = None,
    cluster_dir: Annotated[
        str | None,
        typer.Option(
            "--cluster-dir", metavar="DIR", help="Look at the folder of a cluster's node, too."
        ),
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Read every frame of the archive's segments.")
    ] = False,
    interval: Annotated[
        float,
        seconds_option(
            "--interval", "Between two looks, from which rates are told; 0 for one look."
        ),
    ] = _INTERVAL_S,
    watch: Annotated[
        bool, typer.Option("--watch", help="Look again and again, until interrupted.")
    ] = False,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", metavar="N", help="With --watch: end after N reports.", min=1),
    ] = None,
    fail_on: Annotated[
        _FailOn,
        typer.Option(
            "--fail-on",
            metavar="SEVERITY",
            help="Exit with 3 or 4 from here on: notice, warning, critical or never.",
        ),
    ] = _FailOn.WARNING,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="CODE", help="Leave these findings out; repeatable."),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Print everything that can be found, and end.")
    ] = False,
    as_json: JsonOption = False,
    strict: StrictOption = False,  # noqa: ARG001 - the option itself refuses
) -> None:
    """Say what is wrong with a driver, an archive and a cluster, or will be, the worst first.

    Each finding has its figures, the reason and a remedy. Looks only, changes nothing. Exits with
    0 when nothing is found as bad as --fail-on says, 3 with warnings, 4 with something critical,
    1 when there is nothing to look at.
    """
    from aerolog.tools.doctor.examination import Examination
    from aerolog.tools.terminal.console import progress
    from aerolog.tools.terminal.schedule import Schedule

    unwanted = frozenset(ignore or ())
    _check_codes(unwanted)
    if show_list:
        _print_list(as_json=as_json)
        return
    examination = Examination(aeron_dir, archive_dir, cluster_dir, deep=deep)
    rounds_ = _Rounds(examination, interval, unwanted)
    schedule = Schedule(
        watch=watch, interval_s=interval or _INTERVAL_S, updates=rounds if watch else None
    )
    with progress("reading segments", None, bytes_=True, quiet=not deep or as_json) as bar:
        rounds_.examination.on_bytes = bar.update
        rounds_.next()
    if as_json:
        schedule.show_json(lambda: rounds_.taken().as_json())
    else:
        schedule.show(lambda: rounds_.taken().lines())
    raise typer.Exit(rounds_.report.exit_code(_threshold(fail_on)))


class _Rounds:
    """Examinations, each against the look of the one before.

    Attributes:
        examination: what is looked at.
        report: the last one.
    """

    report: "Report"

    def __init__(
        self, examination: "Examination", interval_s: float, unwanted: frozenset[str]
    ) -> None:
        self.examination = examination
        self._interval_s = interval_s
        self._unwanted = unwanted
        self._last: SystemSnapshot | None = None
        self._is_fresh = False

    def next(self) -> None:
        """Looks, at first twice where there is an interval."""
        from aerolog.tools.doctor.check_groups import examine
        from aerolog.tools.doctor.doctor_report import Report
        from aerolog.tools.doctor.system_snapshot import Case

        is_first = self._last is None
        if is_first and self._interval_s > 0:
            self._last = self.examination.look(inside=False)
            time.sleep(self._interval_s)
        # A driver that comes back is found again: only the first look needs something to see.
        look = self.examination.settle(self.examination.look(needed=is_first))
        case, self._last = Case(look, self._last), look
        findings = [one for one in examine(case) if one.code not in self._unwanted]
        self.report = Report(case, findings, self.examination.contents)
        self._is_fresh = True

    def taken(self) -> "Report":
        """The report that nobody has had yet."""
        if not self._is_fresh:
            self.next()
        self._is_fresh = False
        return self.report


def _check_codes(codes: frozenset[str]) -> None:
    from aerolog.tools.doctor.check_groups import all_kinds

    unknown = sorted(codes - {kind.code for kind in all_kinds()})
    if unknown:
        raise typer.BadParameter(
            f"no finding is called {', '.join(unknown)}; --list prints them all",
            param_hint="--ignore",
        )


def _threshold(fail_on: _FailOn) -> "Severity | None":
    from aerolog.tools.doctor.findings import Severity

    return None if fail_on is _FailOn.NEVER else Severity[fail_on.name]


def _print_list(*, as_json: bool) -> None:
    from aerolog.tools.doctor.doctor_report import kinds_json, kinds_lines
    from aerolog.tools.terminal.console import print_json
    from aerolog.tools.terminal.schedule import write_lines

    if as_json:
        print_json(kinds_json())
    else:
        write_lines(kinds_lines())
