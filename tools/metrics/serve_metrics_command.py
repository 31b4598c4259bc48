"""``aerolog serve-metrics``: metrics of drivers, archives and SQL catalogs."""

from __future__ import annotations

import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import StrictOption, aeron_dir_option, seconds_parser
from aerolog.transport.config.values import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.tools.metrics.metrics_exporter import Exporter, MetricSources

app = typer.Typer(add_completion=False)

_LISTEN = "127.0.0.1:9464"
_DASHBOARD = Path(__file__).with_name("grafana-dashboard.json")


def _address(listen: str) -> tuple[str, int]:
    host, separator, port = listen.rpartition(":")
    number = whole_number(port, 65_535)
    if not separator or not host or number is None:
        raise typer.BadParameter(f"{listen!r} is not HOST:PORT", param_hint="--listen")
    return host.removeprefix("[").removesuffix("]"), number


def _url(otlp: str) -> str:
    try:
        parts = urlsplit(otlp)
    except ValueError as error:
        raise typer.BadParameter(f"{otlp!r} is no URL: {error}", param_hint="--otlp") from error
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise typer.BadParameter(f"{otlp!r} is no http:// or https:// URL", param_hint="--otlp")
    return otlp if parts.path.strip("/") else f"{otlp.rstrip('/')}/v1/metrics"


def _seconds(text: str, option: str) -> float:
    seconds = seconds_parser(option)(text)
    if seconds <= 0:
        raise typer.BadParameter(f"{option} must be more than 0")
    return seconds


@command(
    app,
    "serve-metrics",
    examples=(
        "serve-metrics --archive-dir /data/archive",
        "serve-metrics --aeron-dir /dev/shm/a --aeron-dir /dev/shm/b",
        "serve-metrics --listen 0.0.0.0:9464 --catalog postgresql://db/aerolog",
        "serve-metrics --otlp http://collector:4318",
        "serve-metrics --once > metrics.prom",
        "serve-metrics --dashboard > dashboard.json",
    ),
)
def serve_metrics(
    aeron_dirs: Annotated[
        list[str] | None,
        aeron_dir_option(
            "A driver's directory; may be repeated. Default: the driver's own default, "
            "where nothing else is named."
        ),
    ] = None,
    archive_dirs: Annotated[
        list[str] | None,
        typer.Option("--archive-dir", metavar="DIR", help="An archive's folder; may be repeated."),
    ] = None,
    catalogs: Annotated[
        list[str] | None,
        typer.Option("--catalog", metavar="URL", help="A SQL catalog; may be repeated."),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help=f"Where Prometheus scrapes; {_LISTEN} where nothing is pushed.",
        ),
    ] = None,
    otlp: Annotated[
        str | None,
        typer.Option(
            "--otlp", metavar="URL", help="Push to an OpenTelemetry collector, OTLP over HTTP."
        ),
    ] = None,
    push_interval: Annotated[
        str, typer.Option("--push-interval", metavar="TIME", help="Between two pushes.")
    ] = "10s",
    interval: Annotated[
        str,
        typer.Option(
            "--interval",
            metavar="TIME",
            help="How often folders of recordings and databases are read, at most.",
        ),
    ] = "15s",
    max_labels: Annotated[
        int,
        typer.Option(
            "--max-labels",
            metavar="N",
            min=1,
            help="Streams, clients and so on that are told apart; the rest is 'other'.",
        ),
    ] = 200,
    once: Annotated[bool, typer.Option("--once", help="Print the metrics once, and end.")] = False,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Print a dashboard for Grafana, and end.")
    ] = False,
    strict: StrictOption = False,  # noqa: ARG001 - the option itself refuses
) -> None:
    """Serve metrics of drivers, archives and SQL catalogs to Prometheus and OpenTelemetry.

    Nothing is written to what is watched. A driver or archive that is away has a metric that says
    so, and the others when it is back.
    """
    if dashboard:
        from aerolog.tools.terminal.console import print_json

        print_json(json.loads(_DASHBOARD.read_text(encoding="utf-8")))
        return
    from aerolog.tools.metrics.metrics_exporter import Exporter, MetricSources

    if listen is None and otlp is None:
        listen = _LISTEN
    address = None if listen is None else _address(listen)
    target = None if otlp is None else _url(otlp)
    every_s = _seconds(push_interval, "--push-interval")
    watched = MetricSources(
        tuple(aeron_dirs or _default_dirs(archive_dirs, catalogs)),
        tuple(archive_dirs or ()),
        tuple(catalogs or ()),
        max_labels,
        _seconds(interval, "--interval"),
    )
    _check(watched, once=once)
    with Exporter(watched) as exporter:
        if once:
            from aerolog.tools.metrics.prometheus import text
            from aerolog.tools.terminal.terminal_text import write_fit

            write_fit(text(exporter).splitlines())
            return
        _serve(exporter, address, target, every_s)


def _default_dirs(archives: list[str] | None, catalogs: list[str] | None) -> tuple[str, ...]:
    """The default driver's directory, unless there is something else to watch."""
    from aerolog.transport.memory.aeron_directory import unconfigured_aeron_dir

    return () if archives or catalogs else (str(unconfigured_aeron_dir()),)


def _check(watched: MetricSources, *, once: bool) -> None:
    """What will never be readable is an error at once; what is only away may come.

    Raises:
        ViewError: with the cause and the remedy.
    """
    from aerolog.tools.views.archive_view import ArchiveView
    from aerolog.tools.views.driver_view import DriverView
    from aerolog.tools.views.errors import Trouble, ViewError

    may_come = set() if once else {Trouble.MISSING, Trouble.HALF_DELETED, Trouble.STARTING}
    opening: list[Callable[[], DriverView | ArchiveView]] = [
        *(partial(DriverView.open, one) for one in watched.aeron_dirs),
        *(partial(ArchiveView.open, one) for one in watched.archive_dirs),
    ]
    for opened in opening:
        try:
            opened().close()
        except ViewError as error:
            if error.trouble not in may_come:
                raise
            from aerolog.tools.terminal.console import remark

            remark(f"{error.path}: {error.reason}: waiting for it")


def _serve(
    exporter: Exporter, address: tuple[str, int] | None, target: str | None, every_s: float
) -> None:
    """Serves and pushes until a signal comes."""
    import signal

    from aerolog.tools.terminal.console import remark, say

    with ExitStack() as running:
        if target is not None:
            from aerolog.tools.metrics.otlp import Pusher

            def told(failure: str | None) -> None:
                remark(f"{target} takes metrics again" if failure is None else failure)

            running.enter_context(Pusher(exporter, target, every_s, told))
            say(f"pushing to {target}")
        if address is not None:
            from aerolog.tools.metrics.prometheus import serving

            say(f"serving {running.enter_context(serving(exporter, *address))}")
        while True:
            signal.pause()
