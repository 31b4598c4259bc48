"""A dashboard for Grafana over the metrics of ``families``, made of the table of ``panels``."""

from __future__ import annotations

from typing import Any, Final

from aerolog.tools.metrics.dashboard_panels import ROWS, Panel
from aerolog.tools.metrics.families import FAMILIES

_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
_COLUMNS: Final = 24
_HEIGHT: Final = 8

#: Variable -> the metric whose label of that name it lists.
VARIABLES: Final = {
    "aeron_dir": "aerolog_driver_up",
    "archive_dir": "aerolog_archive_up",
    "catalog": "aerolog_catalog_up",
}


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    y = 0
    for heading, row in ROWS.items():
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": heading,
                "collapsed": False,
                "gridPos": {"x": 0, "y": y, "w": _COLUMNS, "h": 1},
                "panels": [],
            }
        )
        x, y = 0, y + 1
        for panel in row:
            if x + panel.width > _COLUMNS:
                x, y = 0, y + _HEIGHT
            place = {"x": x, "y": y, "w": panel.width, "h": _HEIGHT}
            panels.append(_panel(panel, len(panels) + 1, place))
            x += panel.width
        y += _HEIGHT
    return {
        "uid": "aerolog",
        "title": "aerolog: drivers, streams, archives",
        "tags": ["aeron", "aerolog"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [_data_source(), *map(_variable, VARIABLES.items())]},
        "annotations": {"list": []},
        "panels": panels,
    }


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    targets = [
        {
            "refId": chr(ord("A") + at),
            "datasource": _SOURCE,
            "expr": query,
            "legendFormat": legend,
        }
        for at, (query, legend) in enumerate(panel.queries)
    ]
    made: dict[str, Any] = {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": _description(panel),
        "datasource": _SOURCE,
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
    }
    if panel.kind == "stat":
        made["fieldConfig"]["defaults"] |= {
            "mappings": [
                {
                    "type": "value",
                    "options": {
                        "0": {"text": "down", "color": "red"},
                        "1": {"text": "up", "color": "green"},
                    },
                }
            ]
        }
        made["options"] = {"colorMode": "background", "reduceOptions": {"calcs": ["lastNotNull"]}}
    return made


def _description(panel: Panel) -> str:
    """What the panel's metrics mean, from their own help."""
    told = [
        family.help
        for query, _ in panel.queries
        for family in FAMILIES.values()
        if f"{family.name}{{" in query or f"{family.name})" in query
    ]
    return " ".join(dict.fromkeys(told))


def _data_source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(named: tuple[str, str]) -> dict[str, Any]:
    name, metric = named
    query = f"label_values({metric}, {name})"
    return {
        "name": name,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
