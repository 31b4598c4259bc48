"""`make test` names what was skipped and what was left out, and its exit code is honest."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "suites.py"
TESTS = """
import time
import pytest

def test_passes():
    time.sleep({seconds})

@pytest.mark.parametrize("number", range(3))
def test_is_skipped(number):
    pytest.skip("no such machine")

@pytest.mark.skipif(True, reason="never")
def test_is_marked():
    pass

@pytest.mark.xfail
def test_fails_as_expected():
    assert False
"""


@pytest.fixture
def suites(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script as a module, with a folder of tests as its only suites, and nothing missing."""
    spec = importlib.util.spec_from_file_location("suites", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "suites", module)  # where dataclasses look for annotations
    spec.loader.exec_module(module)
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_some.py").write_text(TESTS.format(seconds=0))
    first = module.Suite((str(folder),), "not spark", 1)
    second = module.Suite((str(folder),), "not spark", 1, workers=2, needs=("maven",))
    monkeypatch.setattr(module, "SUITES", {"first": first, "second": second})
    monkeypatch.setattr(module, "REPORTS", tmp_path / "reports")
    monkeypatch.setattr(module, "missing_packages", set)
    monkeypatch.setattr(sys, "argv", ["suites.py"])
    monkeypatch.delenv("CI", raising=False)
    return module


def test_each_skip_is_told_with_its_reason(suites, capsys):
    assert suites.main() == 0
    said = capsys.readouterr().out
    assert said.endswith("\ncomplete: all suites passed, 8 tests skipped\n"), said[-300:]
    told = said.split("\nskipped: ")[1]
    assert told.splitlines()[0] == "8 tests"
    assert told.count("test_some: no such machine") == 1
    assert "     6  " in told
    assert "     2  " in told
    assert "test_some: never" in told
    assert told.count("  passed\n") == 2


@pytest.mark.parametrize(("ci", "code"), [("", 3), ("true", 1)])
def test_a_suite_without_what_it_needs_is_left_out(suites, capsys, monkeypatch, ci, code):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(suites, "missing_packages", lambda: {"maven", "fish"})
    assert suites.main() == code
    told = capsys.readouterr().out
    assert "left out, it needs maven\n" in told
    assert told.endswith("\nINCOMPLETE: suites left out: second\n")


@pytest.mark.parametrize(("ci", "code"), [("", 3), ("true", 1)])
@pytest.mark.parametrize("peer", ["no C peer: cargo not found", "no reference peer: no java"])
def test_tests_without_their_peer_make_the_run_incomplete(
    suites, capsys, monkeypatch, ci, code, peer
):
    monkeypatch.setenv("CI", ci)
    (path,) = suites.SUITES["first"].paths
    Path(path, "test_some.py").write_text(TESTS.format(seconds=0).replace("no such machine", peer))
    assert suites.main() == code
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "INCOMPLETE: 6 tests skipped for want of a peer"


def test_a_failure_is_in_the_last_line_beside_what_was_left_out(suites, capsys, monkeypatch):
    monkeypatch.setattr(suites, "missing_packages", lambda: {"maven"})
    (path,) = suites.SUITES["first"].paths
    Path(path, "test_some.py").write_text("def test_fails():\n    assert False\n")
    assert suites.main() == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "FAILED: first; suites left out: second"


def test_the_long_run_says_how_it_ended_too(suites, capsys, monkeypatch):
    (path,) = suites.SUITES["first"].paths
    Path(path, "test_some.py").write_text(
        "import pytest\n@pytest.mark.slow\ndef test_waits():\n    pytest.skip('no C peer: x')\n"
    )
    monkeypatch.setattr(sys, "argv", ["suites.py", "--long", path])
    assert suites.main() == 3
    assert "1 tests skipped for want of a peer" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_a_suite_over_its_budget_fails_in_ci(suites, capsys, monkeypatch, ci, code):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(suites, "PATIENCE", 1e6)
    folder = suites.SUITES["first"].paths
    monkeypatch.setattr(suites, "SUITES", {"first": suites.Suite(folder, "not spark", 1e-5)})
    assert suites.main() == code
    assert ("over its time budget" in capsys.readouterr().out) == bool(code)


def test_a_suite_runs_without_the_folders_that_it_leaves_to_others(suites, capsys, monkeypatch):
    (path,) = suites.SUITES["first"].paths
    slow = Path(path, "slow")
    slow.mkdir()
    (slow / "test_that_fails.py").write_text("def test_fails():\n    assert False\n")
    quick = suites.Suite((path,), "not spark", 1, without=(str(slow),))
    monkeypatch.setattr(suites, "QUICK", quick)
    monkeypatch.setattr(sys, "argv", ["suites.py", "quick"])
    assert suites.main() == 0, capsys.readouterr().out


def test_quick_leaves_out_folders_that_exist_and_are_in_a_suite(suites):
    root = SCRIPT.parents[1]
    assert [path for path in suites.QUICK.without if not (root / path).is_dir()] == []
    assert all(path.startswith("tests/unit/") for path in suites.QUICK.without)


def test_a_suite_without_tests_is_named(suites, capsys, monkeypatch):
    monkeypatch.setattr(suites, "SUITES", {"cluster": suites.Suite(("nowhere",), "not spark", 1)})
    assert suites.main() == 0
    assert "no tests yet" in capsys.readouterr().out


@pytest.fixture
def suites_of_ci(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, with its suites as they are."""
    spec = importlib.util.spec_from_file_location("suites_as_they_are", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "suites_as_they_are", module)
    spec.loader.exec_module(module)
    return module


def test_all_suites_fit_into_the_ninety_minutes_of_ci(suites_of_ci):
    set_up_minutes = 6
    total = sum(suite.budget_minutes for suite in suites_of_ci.SUITES.values())
    assert set_up_minutes + total <= 90


def test_every_test_module_is_run_by_one_suite(suites_of_ci):
    root = SCRIPT.parents[1]
    paths = [
        root / path
        for name, suite in suites_of_ci.SUITES.items()
        if name != "spark"  # goes by marks through all of them
        for path in suite.paths
    ]
    runs = {
        str(module.relative_to(root)): sum(module.is_relative_to(path) for path in paths)
        for module in (root / "tests").rglob("test_*.py")
    }
    odd = {module: count for module, count in runs.items() if count != 1}
    assert set(odd) <= {str(m.relative_to(root)) for m in (root / "tests/spark").rglob("*.py")}
