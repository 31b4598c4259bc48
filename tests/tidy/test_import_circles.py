"""Modules import each other in one direction; what is imported for types only does not count."""

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

#: Wings without circles; the others are to follow.
WINGS = ("cluster",)


def circle(imports: dict[str, set[str]]) -> list[str]:
    """The modules of one circle of imports, none if there is no circle."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def graph(checkout: Path) -> grimp.ImportGraph:
    return grimp.build_graph(
        "aerolog",
        exclude_type_checking_imports=True,
        cache_dir=str(checkout / ".import_linter_cache"),
    )


@pytest.mark.parametrize("wing", WINGS)
def test_a_wing_has_no_circle(graph: grimp.ImportGraph, wing: str):
    modules = {name for name in graph.modules if name.startswith(f"aerolog.{wing}.")}
    assert len(modules) > 50
    assert circle({name: graph.find_modules_directly_imported_by(name) for name in modules}) == []


def test_a_circle_is_found():
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
    assert circle({"a": {"b"}, "b": {"c"}}) == []
