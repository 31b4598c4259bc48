"""The ``driver-tool`` command: who the driver is, its pid, and asking it to stop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from aerolog.tools.command_line.java_error import ILLEGAL_STATE
from aerolog.tools.stat import classic_lines as lines
from aerolog.tools.stat.reference_conventions import open_view, uncaught
from aerolog.tools.terminal.confirmation import Plan, ask, check_can_ask, show_dry_run
from aerolog.tools.terminal.console import print_fields, print_json, print_result, remark, say
from aerolog.tools.terminal.terminal_text import write_fit
from aerolog.tools.views.driver_view import DriverView
from aerolog.tools.views.errors import Trouble, ViewError
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.errors import AerologError
from aerolog.transport.memory.error_text import format_time
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

_HELP: Final = frozenset({"-?", "-h", "-help"})
_MISSING: Final = "missing file for cnc : {}"
_POLL_S: Final = 0.02
_SOFTWARE: Final = 34


def facts(view: DriverView) -> dict[str, Any]:
    """What cnc.dat says of its driver."""
    snapshot = view.counters()
    now_ms = snapshot.taken_ms
    row = snapshot.row_of(_SOFTWARE)
    software = "" if row is None else snapshot.label(row).partition(": ")[2]
    return {
        "aeron_dir": view.aeron_dir,
        "pid": view.pid,
        "software": software,
        "cnc_version": view.version_text,
        "start_ms": view.start_ms,
        "heartbeat_ms": view.heartbeat_ms(),
        "now_ms": now_ms,
        "alive": view.is_alive(now_ms),
        "stopped": view.is_closed(),
        "client_liveness_timeout_ns": view.client_liveness_timeout_ns,
        "file_page_size": view.file_page_size,
        "counters": len(snapshot),
        "errors": len(view.errors()),
    }


def show(aeron_dir: str | None, *, as_json: bool) -> None:
    """Prints what cnc.dat says of its driver."""
    with DriverView.open(aeron_dir) as view:
        told = facts(view)
    if as_json:
        print_json(told)
        return
    age_s = (told["now_ms"] - told["heartbeat_ms"]) / 1000
    if told["stopped"]:
        state = "stopped in good order"
    elif told["alive"]:
        state = f"alive, last heartbeat {age_s:.1f} s ago"
    else:
        state = f"DEAD: last heartbeat {age_s:,.1f} s ago ({format_time(told['heartbeat_ms'])})"
    print_fields(
        {
            "directory": told["aeron_dir"],
            "pid": told["pid"],
            "state": state,
            "software": told["software"],
            "started": format_time(told["start_ms"]),
            "cnc version": told["cnc_version"],
            "client timeout": f"{told['client_liveness_timeout_ns'] / NS_PER_S:g} s",
            "file page size": told["file_page_size"],
            "counters": told["counters"],
            "distinct errors": told["errors"],
        }
    )


def show_pid(aeron_dir: str | None, *, as_json: bool) -> None:
    """Prints the process id alone."""
    with DriverView.open(aeron_dir) as view:
        print_result({"pid": view.pid}, str(view.pid), as_json=as_json)


def ask_and_terminate(
    aeron_dir: str | None, *, token: str, wait_s: float, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Shows what would end, asks, then has the driver stop.

    Raises:
        AerologError: the driver is not alive, or does not stop.
    """
    check_can_ask(yes=yes, dry_run=dry_run)
    with DriverView.open(aeron_dir) as view:
        if not view.is_alive():
            raise ViewError(
                Trouble.MISSING,
                view.aeron_dir,
                f"the driver of pid {view.pid} is not alive",
                "there is nothing to stop; a driver that starts there replaces the files",
            )
        concerned = _concerned(view)
        told = (
            f"stop the driver of pid {view.pid} in {view.aeron_dir}: {concerned['clients']} clients"
            f" lose it, with {concerned['publications']} publications"
        )
        plan = Plan(told, details=concerned)
        if dry_run:
            show_dry_run(plan, as_json=as_json)
            return
        ask(plan, yes=yes)
        _terminate(view, token, wait_s)
        if as_json:
            print_json({"pid": view.pid, "stopped": True})
        else:
            remark(f"the driver of pid {view.pid} has stopped")


def _terminate(view: DriverView, token: str, wait_s: float) -> None:
    _request(view.aeron_dir, token)
    deadline = Deadline(wait_s)
    while not (view.is_closed() or view.is_replaced()):
        if deadline.is_over:
            raise AerologError(
                f"the driver of pid {view.pid} has not stopped within {wait_s:g} s: it takes "
                "requests only with a validator that likes the token, such as -Daeron.driver."
                "termination.validator=io.aeron.driver.DefaultAllowTerminationValidator"
            )
        time.sleep(_POLL_S)


def _concerned(view: DriverView) -> dict[str, Any]:
    snapshot = view.counters()
    return {
        "action": "terminate",
        "aeron_dir": view.aeron_dir,
        "pid": view.pid,
        "clients": len(snapshot.rows_of({CounterType.CLIENT_HEARTBEAT})),
        "publications": len(snapshot.rows_of({CounterType.PUBLISHER_POSITION})),
    }


def _request(aeron_dir: str, token: str) -> None:
    from aerolog.transport.client.diagnostics import request_termination

    request_termination(aeron_dir, token.encode())


def classic(aeron_dir: str | None, words: Sequence[str]) -> None:
    """DriverTool: only the first word counts."""
    if _HELP & set(words):
        write_fit(lines.DRIVER_USAGE.splitlines())
        return
    view = open_view(aeron_dir, missing=_MISSING)
    if words and words[0] == "pid":
        say(str(view.pid))
    elif words and words[0] == "terminate":
        try:
            _request(view.aeron_dir, "")
        except AerologError:
            uncaught(ILLEGAL_STATE, "could not send termination request.")
        except OSError as error:
            uncaught(ILLEGAL_STATE, str(error))
    else:
        write_fit(lines.driver(view, aeron_dir, view.clock.now_epoch_ms()))
