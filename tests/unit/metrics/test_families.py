"""The names of metrics are a promise: their form, their table, the page, the dashboard."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from prerequisites import program_or_skip

from aerolog.tools.metrics import system_metrics
from aerolog.tools.metrics.dashboard_panels import ROWS
from aerolog.tools.metrics.families import FAMILIES, SECTIONS, Family, MetricKind
from aerolog.tools.metrics.grafana_dashboard import VARIABLES, dashboard
from aerolog.transport.driver.counters.system_counters import SystemCounter

DOCS = Path(__file__).resolve().parents[3] / "docs"
QUERIES = [query for row in ROWS.values() for panel in row for query, _ in panel.queries]
#: System counters that are told otherwise or not at all.
NOT_EXPORTED = {SystemCounter.AERON_VERSION, SystemCounter.CONTROL_PROTOCOL_VERSION}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda one: one.name)
def test_a_name_has_the_form_of_its_kind(family: Family) -> None:
    assert re.fullmatch(r"aerolog_[a-z]+(_[a-z]+)*", family.name)
    assert family.name.endswith("_total") == (family.kind is MetricKind.COUNTER)
    assert family.help.endswith(".")
    assert len(set(family.labels)) == len(family.labels)


def test_names_are_there_once() -> None:
    assert sum(map(len, SECTIONS.values())) == len(FAMILIES)


def test_every_system_counter_is_a_metric() -> None:
    assert set(system_metrics.SYSTEM_METRICS) == set(SystemCounter) - NOT_EXPORTED
    for metric in system_metrics.SYSTEM_METRICS.values():
        family = FAMILIES[f"aerolog_{metric.name}"]
        assert len(family.labels) == 1 + len(metric.labels)


def test_the_page_has_every_metric() -> None:
    page = (DOCS / "reference" / "metrics.md").read_text()

    for family in FAMILIES.values():
        assert f"| `{family.name}` | {family.kind.value} |" in page
    assert page.count("| `aerolog_") == len(FAMILIES)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_the_dashboard_asks_for_what_is_exported(query: str) -> None:
    named = re.findall(r"(aerolog_\w+)(\{[^}]*\})?", query)

    assert named
    labels = set()
    for name, where in named:
        family = FAMILIES[name]
        labels |= set(family.labels)
        assert set(re.findall(r"(\w+)!?=~?\"", where)) <= set(family.labels)
        is_counter = family.kind is MetricKind.COUNTER
        in_rate = re.search(rf"rate\({name}\b", query) is not None
        assert in_rate == (is_counter and "logged_errors" not in name)
    for group in re.findall(r"by \(([^)]*)\)", query):
        assert set(re.split(r",\s*", group)) <= labels


def test_legends_and_variables_name_labels() -> None:
    for row in ROWS.values():
        for panel in row:
            for query, legend in panel.queries:
                wanted = set(re.findall(r"\{\{(\w+)\}\}", legend))
                for name in re.findall(r"aerolog_\w+", query):
                    grouped = re.findall(r"by \(([^)]*)\)", query)
                    kept = ", ".join(grouped).split(", ") if grouped else FAMILIES[name].labels
                    assert wanted <= set(kept), (query, legend)
    for label, metric in VARIABLES.items():
        assert label in FAMILIES[metric].labels


def test_panels_do_not_overlap_and_have_their_own_ids() -> None:
    panels = dashboard()["panels"]
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["description"] for panel in panels if panel["type"] != "row")


def test_the_file_is_the_dashboard() -> None:
    shipped = json.loads((DOCS / "tools" / "grafana-dashboard.json").read_text())

    assert shipped == dashboard(), (
        "run aerolog serve-metrics --dashboard > docs/tools/grafana-dashboard.json"
    )


def test_the_alerts_ask_for_what_is_exported() -> None:
    path = DOCS / "tools" / "prometheus-alerts.yml"
    text = path.read_text()

    checked = subprocess.run(
        [program_or_skip("promtool"), "check", "rules", path],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    rules = text.split("- alert: ")[1:]
    assert rules
    for rule in rules:
        names = re.findall(r"aerolog_\w+", rule)
        assert names, rule
        labels = {label for name in names for label in FAMILIES[name].labels}
        assert set(re.findall(r"\$labels\.(\w+)", rule)) <= labels
        for group in re.findall(r"by \(([^)]*)\)", rule):
            assert set(group.split(", ")) <= labels
