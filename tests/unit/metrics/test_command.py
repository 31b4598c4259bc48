"""``aerolog serve-metrics`` on what cannot be watched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from metric_dashboard import DASHBOARD

from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_directory_by_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AERON_DIR", raising=False)


def failing(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The line that the command fails with."""
    assert main(["serve-metrics", *arguments]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("aerolog: ")
    assert printed.err.count("\n") == 1
    return printed.err


def test_once_needs_what_it_is_to_print(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such directory" in failing(capsys, "--once", "--aeron-dir", str(tmp_path / "none"))
    assert "empty folder" in failing(capsys, "--once", "--archive-dir", str(tmp_path))
    assert "URL of the catalog" in failing(capsys, "--once", "--catalog", "nothing")


def test_a_directory_of_another_version_is_refused_at_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cnc.dat").write_bytes(b"\xff" * 8192)

    told = failing(capsys, "--aeron-dir", str(tmp_path))

    assert "version" in told
    assert (tmp_path / "cnc.dat").read_bytes() == b"\xff" * 8192


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(garbage=st.binary(max_size=600), name=st.sampled_from(["cnc.dat", "archive.catalog"]))
def test_garbage_is_an_error_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], garbage: bytes, name: str
) -> None:
    for other in tmp_path.iterdir():
        other.unlink()
    (tmp_path / name).write_bytes(garbage)
    option = "--aeron-dir" if name == "cnc.dat" else "--archive-dir"

    failing(capsys, "--once", option, str(tmp_path))

    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [(name, garbage)]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--listen", "9464"], "HOST:PORT"),
        (["--listen", "h:"], "HOST:PORT"),
        (["--listen", ":1"], "HOST:PORT"),
        (["--listen", "h:65536"], "HOST:PORT"),
        (["--otlp", "collector:4318"], "URL"),
        (["--otlp", "ftp://x"], "URL"),
        (["--interval", "soon"], "soon"),
        (["--push-interval", "0s"], "--push-interval"),
        (["--max-labels", "0"], "--max-labels"),
    ],
)
def test_wrong_usage_is_named(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve-metrics", *arguments]) == 2

    printed = capsys.readouterr()
    assert named in printed.err
    assert printed.out == ""


def test_the_dashboard_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve-metrics", "--dashboard"]) == 0
    assert json.loads(capsys.readouterr().out) == DASHBOARD


@pytest.mark.parametrize("missing", ["prometheus_client", "opentelemetry"])
def test_without_the_extra_it_is_named(missing: str, tmp_path: Path) -> None:
    code = f"""
import sys
class Hidden:
    def find_spec(self, name, *more):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
from aerolog.tools.main import main
sys.exit(main(sys.argv[1:]))
"""
    how = ["--listen", "127.0.0.1:0"] if missing == "prometheus_client" else ["--otlp", "http://x"]
    ran = subprocess.run(
        [sys.executable, "-c", code, "serve-metrics", "--aeron-dir", str(tmp_path), *how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={k: v for k, v in os.environ.items() if k != "AERON_DIR"},
    )

    assert ran.returncode == 2
    assert "pip install 'aerolog[metrics]'" in ran.stderr
    assert "Traceback" not in ran.stderr
