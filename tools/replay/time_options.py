"""Options of commands that replay by time: from when until when, and how fast."""

import math
import re
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from aerolog.tools.command_line.options import TIME_RULE, option_parser
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.config.times import format_time, parse_time_ns
from aerolog.transport.config.values import parse_long_duration_ns
from aerolog.transport.errors import AerologError

TIME_PANEL: Final = "Time"
_SPEED: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)x?", re.ASCII)


def parse_speed(text: str | float) -> float:
    """``1x``, ``0.5x``, ``10``, or ``max``, which is infinity.

    Raises:
        BadParameter: none of these.
    """
    if not isinstance(text, str):
        return text  # a default: Typer runs those through here as well
    if text.lower() == "max":
        return math.inf
    match = _SPEED.fullmatch(text.lower())
    speed = float(match.group(1)) if match is not None else 0.0
    from aerolog.archive.client.replay.pacer import SPEED_MAX, SPEED_MIN

    if not SPEED_MIN <= speed <= SPEED_MAX:
        raise typer.BadParameter(f"--speed: {text!r} is no speed: 1x, 0.5x, 10x, or max")
    return speed


def _duration_ns(name: str, text: str) -> int:
    value = parse_long_duration_ns(name, text)
    if value == 0:
        raise typer.BadParameter(f"{name} must be more than 0")
    return value


@dataclass(frozen=True, slots=True)
class Times:
    """A range of time, epoch nanoseconds; None for no bound.

    Attributes:
        start_ns: the earliest time of a message.
        end_ns: the time behind the last message.
        last_ns: the length of the range before its end, instead of a start.
    """

    start_ns: int | None = None
    end_ns: int | None = None
    last_ns: int | None = None


@dataclass(frozen=True, slots=True)
class TimedOptions:
    """Which part of a recording by time, and how fast."""

    from_time: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            rich_help_panel=TIME_PANEL,
            help="Messages from this time on, such as 2026-11-20T10:00, 'yesterday 10:00', or 5m "
            f"for five minutes ago. {TIME_RULE}",
        ),
    ] = None
    until_time: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            rich_help_panel=TIME_PANEL,
            help="Messages before this time, in the same forms.",
        ),
    ] = None
    last: Annotated[
        int | None,
        typer.Option(
            "--last",
            metavar="TIME",
            rich_help_panel=TIME_PANEL,
            help="The last part, such as 5m: before --until, before now where a recording is live, "
            "else before it stopped.",
            parser=option_parser(_duration_ns, "--last"),
        ),
    ] = None
    speed: Annotated[
        float | None,
        typer.Option(
            "--speed",
            metavar="SPEED",
            rich_help_panel=TIME_PANEL,
            help="Keep the recorded pace: 1x, 0.5x, 10x; max, which is the default, does not. "
            "At a terminal keys change it: space pauses, + and -, q quits.",
            parser=parse_speed,
        ),
    ] = None

    @property
    def has_times(self) -> bool:
        """Whether a range of time is asked for."""
        return (self.from_time, self.until_time, self.last) != (None, None, None)

    @property
    def is_given(self) -> bool:
        """Whether any of the options is given."""
        return self.has_times or self.speed is not None

    @property
    def pace(self) -> float | None:
        """The speed as a replay takes it: None is as fast as can be."""
        return None if self.speed is None or math.isinf(self.speed) else self.speed

    def times(self, clock: Clock | None = None) -> Times:
        """The range of time, relative ones counted from now.

        Raises:
            BadParameter: what is given is no time, or does not go together.
        """
        if self.from_time is not None and self.last is not None:
            raise typer.BadParameter("--last and --from are two ways to say where to begin")
        now_ns = (clock or SystemClock()).now_epoch_ns()
        start = _time("--from", self.from_time, now_ns)
        end = _time("--until", self.until_time, now_ns)
        if start is not None and end is not None and start >= end:
            raise typer.BadParameter(
                f"--from {format_time(start)} is not before --until {format_time(end)}"
            )
        return Times(start, end, self.last)


def _time(name: str, text: str | None, now_ns: int) -> int | None:
    if text is None:
        return None
    try:
        return parse_time_ns(name, text, now_ns=now_ns)
    except AerologError as error:
        raise typer.BadParameter(str(error)) from error
