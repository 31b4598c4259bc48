"""The names of metrics are a promise: their form, their table, the page, the dashboard."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from metric_dashboard import DASHBOARD, PANELS, QUERIES
from prerequisites import program_or_skip

from aerolog.tools.metrics import system_metrics
from aerolog.tools.metrics.families import FAMILIES, SECTIONS, Family, MetricKind
from aerolog.transport.counters.system_counters import SystemCounter

DOCS = Path(__file__).resolve().parents[3] / "docs"
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


@pytest.mark.parametrize("query", [query for query, _ in QUERIES])
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
    for query, legend in QUERIES:
        wanted = set(re.findall(r"\{\{(\w+)\}\}", legend))
        for name in re.findall(r"aerolog_\w+", query):
            grouped = re.findall(r"by \(([^)]*)\)", query)
            kept = ", ".join(grouped).split(", ") if grouped else FAMILIES[name].labels
            assert wanted <= set(kept), (query, legend)
    variables = [one for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]
    assert {one["name"] for one in variables} == {"aeron_dir", "archive_dir", "catalog"}
    for variable in variables:
        assert variable["definition"] == variable["query"]["query"]
        asked = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"])
        assert asked is not None, variable
        assert asked[2] == variable["name"]
        assert asked[2] in FAMILIES[asked[1]].labels


def test_panels_do_not_overlap_and_have_their_own_ids() -> None:
    panels = DASHBOARD["panels"]
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.parametrize("panel", PANELS, ids=lambda one: one["title"])
def test_a_panel_explains_its_metrics_in_their_own_words(panel: dict[str, Any]) -> None:
    helps = [
        family.help
        for target in panel["targets"]
        for family in FAMILIES.values()
        if family.name in re.findall(r"aerolog_\w+", target["expr"])
    ]
    assert panel["description"] == " ".join(dict.fromkeys(helps))


def test_a_panel_asks_its_data_source_under_letters_of_its_own() -> None:
    source = {"type": "prometheus", "uid": "${source}"}
    for panel in PANELS:
        assert panel["datasource"] == source
        assert [one["datasource"] for one in panel["targets"]] == [source] * len(panel["targets"])
        letters = [one["refId"] for one in panel["targets"]]
        assert letters == sorted(set(letters))


def test_the_site_offers_the_file_that_is_shipped() -> None:
    offered = DOCS / "tools" / "grafana-dashboard.json"
    assert offered.samefile(DOCS.parent / "tools" / "metrics" / "grafana-dashboard.json")


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
