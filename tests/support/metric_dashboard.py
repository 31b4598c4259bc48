"""The dashboard for Grafana that is shipped beside the metrics, as tests look at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aerolog.tools import metrics

DASHBOARD: dict[str, Any] = json.loads(
    Path(metrics.__path__[0], "grafana-dashboard.json").read_text(encoding="utf-8")
)
PANELS: list[dict[str, Any]] = [one for one in DASHBOARD["panels"] if one["type"] != "row"]
#: Each query with its legend.
QUERIES: list[tuple[str, str]] = [
    (target["expr"], target["legendFormat"]) for panel in PANELS for target in panel["targets"]
]
