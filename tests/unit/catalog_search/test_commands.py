"""The commands ``search``, ``tag`` and ``show``, and the page about them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.tools.main import main

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.catalog.index import RecordingCatalog

PAGE = Path(__file__).parents[3] / "docs" / "catalog" / "search.md"


@pytest.fixture
def run(
    local: RecordingCatalog, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command on the catalog of the folder."""

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["catalog", *words, "--archive-dir", str(folder)])
        return code, *capsys.readouterr()

    return command


def found(run: Callable[..., tuple[int, str, str]], *words: str) -> list[dict[str, Any]]:
    code, out, err = run("search", "--json", *words)
    assert (code, err) == (0, "")
    rows: list[dict[str, Any]] = json.loads(out)
    return rows


def test_a_search_prints_what_is_found(run: Callable[..., tuple[int, str, str]]) -> None:
    assert run("tag", "1", "--set", "carrier=AA", "--name", "best")[0] == 0

    code, out, _ = run("search", "--tag", "carrier=AA")
    heading, line = out.splitlines()
    assert (code, heading.split()[:3]) == (0, ["recording_id", "stream_id", "session_id"])
    assert line.split()[:2] == ["1", "1001"]
    assert "2023-11-14T22:13:20Z" in line
    assert "best" in line
    (row,) = found(run, "--name", "best")
    assert (row["stream_id"], row["tags"], row["names"]) == (1001, {"carrier": "AA"}, ["best"])


def test_options_are_the_conditions(run: Callable[..., tuple[int, str, str]]) -> None:
    def ids(*words: str) -> list[int]:
        return [row["recording_id"] for row in found(run, "--order", "id", *words)]

    assert ids() == [0, 1, 2]
    assert ids("--stream", "1002") == [2]
    assert ids("--channel", "ipc", "--id", "0", "--id", "2") == [0, 2]
    assert ids("--min-size", "128") == [1, 2]
    assert ids("--since", "2023-11-14T22:13:20Z", "--until", "2023-11-15") == [0, 1, 2]
    assert ids("--since", "2023-11-14T22:13:21.001Z") == []
    assert ids("--state", "active") == []


def test_more_than_the_limit_is_said(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = run("search", "--limit", "2", "--json")

    assert (code, len(json.loads(out))) == (0, 2)
    assert err.startswith("there are more: --offset 2")


def test_an_empty_catalog_says_how_to_fill_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", "search", "--catalog", f"sqlite:///{tmp_path}/new.db"]) == 0
    assert "run: aerolog catalog sync --archive-dir DIR" in capsys.readouterr().err


def test_all_of_one_recording_is_shown(run: Callable[..., tuple[int, str, str]]) -> None:
    run("tag", "2", "--set", "carrier=LH", "--name", "last")

    code, out, _ = run("show", "last")
    assert code == 0
    for part in ("recording_id", "carrier=LH", "segments", "65536"):
        assert part in out
    code, out, _ = run("show", "2", "--json")
    assert json.loads(out)["tags"] == {"carrier": "LH"}


def test_labels_are_taken_away(run: Callable[..., tuple[int, str, str]]) -> None:
    run("tag", "0", "1", "--set", "a=1", "--set", "b=2")
    code, out, _ = run("tag", "0", "--remove", "a", "--json")

    assert code == 0
    assert json.loads(out) == [{"recording_id": 0, "names": [], "tags": {"b": "2"}}]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("search", "--since", "yesterdayish"), 2, "is not a time"),
        (("search", "--state", "running"), 2, "there are active"),
        (("search", "--min-size", "-1"), 2, "min-size"),
        (("search", "--tag", "a=1", "--tag", "a=2"), 2, "given twice"),
        (("search", "--channel", "a\0"), 2, "NUL"),
        (("tag", "0", "--set", "novalue"), 2, "write KEY=VALUE"),
        (("tag", "9", "--set", "a=b"), 1, "no recording 9"),
        (("tag", "0", "1", "--name", "both"), 1, "not of 2"),
        (("show", "nobody"), 1, "no recording named 'nobody'"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_said(
    words: tuple[str, ...], code: int, said: str, run: Callable[..., tuple[int, str, str]]
) -> None:
    got, out, err = run(*words)

    assert (got, out) == (code, "")
    assert said in " ".join(err.split())
    assert "Traceback" not in err


def test_the_page_s_program_runs(folder: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "0 stopped 64 ('first-flight',)\n"


def test_a_time_in_which_nothing_was_recorded_says_when_something_was(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    code, _, err = run("search", "--since", "2030-01-01", "--channel", "ipc")

    assert code == 0
    assert "nothing was recorded in that time; the oldest recording that meets the other" in err
    assert "began at 2023-11-14T22:13:20Z, the newest ended at 2023-11-14T22:13:2" in err
