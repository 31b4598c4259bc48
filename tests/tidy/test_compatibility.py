"""The table of requests names tests that there are, for every request and in both directions."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from aerolog.archive import protocol as ap

ROW = re.compile(r"\| `(\w+)` \| (\d+) \| `([^`]+)`(?: \(1\))? \| `([^`]+)`(?: \(1\))? \|$")


@pytest.fixture(scope="module")
def table(checkout: Path) -> dict[tuple[str, int], tuple[str, str]]:
    """Tests of each request: the reference's client at our archive, ours at the reference's."""
    page = (checkout / "docs" / "compatibility.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    found = {}
    for row in rows:
        match = ROW.match(row)
        assert match is not None, f"a cell is empty or has another form: {row}"
        name, template, theirs, ours = match.groups()
        found[name, int(template)] = (theirs, ours)
    return found


def test_every_request_has_its_row(table):
    requests = {
        (kind.__name__, kind.LAYOUT.template_id)
        for kind in ap.MESSAGES.values()
        if "Request" in kind.__name__ or kind is ap.ChallengeResponse
    }
    assert set(table) == requests


def test_every_test_that_is_named_is_collected(table, checkout):
    named = {test for tests in table.values() for test in tests}
    files = sorted({f"tests/interop/{test.split('::')[0]}" for test in named})
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.returncode == 0, listed.stdout + listed.stderr
    collected = set(listed.stdout.splitlines())
    assert {test for test in named if f"tests/interop/{test}" not in collected} == set()


def test_the_two_directions_of_a_request_are_two_tests(table):
    for name, (theirs, ours) in table.items():
        assert theirs != ours, name
        assert "our" in theirs.split("[")[1], name
        assert "reference" in ours.split("[")[1], name


def test_every_difference_between_versions_has_its_test(checkout):
    page = (checkout / "docs" / "compatibility" / "versions.md").read_text()
    tests = (checkout / "tests" / "interop" / "test_c_versions.py").read_text()
    named = re.findall(r"`(test_\w+)` \|$", page, re.MULTILINE)
    assert named
    assert sorted(named) == sorted(re.findall(r"^def (test_\w+)", tests, re.MULTILINE))
