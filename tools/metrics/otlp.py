"""Metrics pushed to an OpenTelemetry collector, with the names that Prometheus sees.

The collector gets what was collected in one go, so that all values are of one moment. What only
grows counts from when this process began to look.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final, Self

from aerolog._version import __version__
from aerolog.catalog.extras import require
from aerolog.tools.metrics.families import MetricKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opentelemetry.sdk.metrics.export import Metric, MetricsData

    from aerolog.tools.metrics.metrics_exporter import Exporter
    from aerolog.tools.metrics.samples import Collected

_UNITS: Final = {"seconds": "s", "bytes": "By", "": "1"}
_SCOPE: Final = "aerolog.metrics"


class Pusher:
    """Pushes all metrics every so often, from a thread of its own. A context manager.

    Args:
        exporter: what to collect from.
        url: where OTLP over HTTP is taken, ``http://host:4318/v1/metrics``.
        interval_s: between two pushes.
        on_change: told when a push fails after one that did not, with the reason, and with None
            when one succeeds after one that failed.

    Raises:
        MissingExtraError: OpenTelemetry is not installed.
    """

    def __init__(
        self,
        exporter: Exporter,
        url: str,
        interval_s: float,
        on_change: Callable[[str | None], None],
    ) -> None:
        require("opentelemetry.sdk.metrics.export", "metrics for OpenTelemetry")
        http: Any = require(
            "opentelemetry.exporter.otlp.proto.http.metric_exporter", "metrics for OpenTelemetry"
        )
        # Its own words about a collector that is away come with each attempt: ours come once.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._exporter = exporter
        self._out: Any = http.OTLPMetricExporter(endpoint=url, timeout=max(interval_s, 1.0))
        self._interval_s = interval_s
        self._on_change = on_change
        self._url = url
        self._failing = False
        self._clock = exporter.clock
        self._began_ns = self._clock.now_epoch_ns()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics-push", daemon=True)

    def push(self) -> bool:
        """Pushes once; gives whether the collector took it."""
        from opentelemetry.sdk.metrics.export import MetricExportResult

        data = metrics_data(self._exporter.collect(), self._began_ns, self._clock.now_epoch_ns())
        taken = self._out.export(data) is MetricExportResult.SUCCESS
        self._tell(None if taken else f"{self._url} does not take metrics")
        return taken

    def _tell(self, failure: str | None) -> None:
        if (failure is None) is self._failing:
            self._failing = failure is not None
            self._on_change(failure)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.push()
            except BaseException as error:  # noqa: BLE001 - the next push may go well
                self._tell(f"{self._url}: nothing was pushed: {type(error).__name__}: {error}")
            self._stop.wait(self._interval_s)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        # Ends an attempt that waits for its next try, too.
        self._out.shutdown()
        self._thread.join()


def metrics_data(collected: Iterable[Collected], began_ns: int, now_ns: int) -> MetricsData:
    """Collected metrics in the model of OpenTelemetry.

    Args:
        collected: what an exporter has collected.
        began_ns: the time since which counters count, epoch nanoseconds.
        now_ns: the time of the values, epoch nanoseconds.
    """
    from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    metrics = [_metric(one, began_ns, now_ns) for one in collected]
    scope = ScopeMetrics(InstrumentationScope(_SCOPE, __version__), metrics, "")
    resource = Resource.create({"service.name": "aerolog"})
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(collected: Collected, began_ns: int, now_ns: int) -> Metric:
    from opentelemetry.sdk.metrics.export import (
        AggregationTemporality,
        Gauge,
        Metric,
        NumberDataPoint,
        Sum,
    )

    family = collected.family
    points = [
        NumberDataPoint(
            attributes=dict(zip(family.labels, labels, strict=True)),
            start_time_unix_nano=began_ns if family.kind is MetricKind.COUNTER else 0,
            time_unix_nano=now_ns,
            value=float(value),
        )
        for labels, value in sorted(collected.values.items())
    ]
    data = (
        Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
        if family.kind is MetricKind.COUNTER
        else Gauge(points)
    )
    return Metric(family.name, family.help, _UNITS[family.unit], data)
