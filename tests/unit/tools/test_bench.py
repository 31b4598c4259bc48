"""``aerolog bench`` finds the checkout, or says that there is none."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import aerolog
from aerolog.tools.bench import bench_command
from aerolog.tools.main import main


def fake_checkout(root: Path, body: str) -> None:
    (root / "benchmarks").mkdir()
    (root / "benchmarks" / "__init__.py").touch()
    (root / "benchmarks" / "__main__.py").write_text(body)
    (root / "pyproject.toml").touch()
    (root / "python" / "aerolog").mkdir(parents=True)


def pretend_to_run_from(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = root / "python" / "aerolog" / "__init__.py"
    monkeypatch.setattr(aerolog, "__file__", str(file))


def test_names_and_json_go_to_the_benchmarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fake_checkout(tmp_path, "import sys, json; print(json.dumps(sys.argv[1:]))")
    pretend_to_run_from(tmp_path, monkeypatch)

    assert main(["bench", "ipc-32", "ipc-rtt", "--json"]) == 0

    assert json.loads(capfd.readouterr().out) == ["ipc-32", "ipc-rtt", "--json"]


def test_the_exit_code_is_the_benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_checkout(tmp_path, "raise SystemExit(1)")
    pretend_to_run_from(tmp_path, monkeypatch)

    assert main(["bench"]) == 1


def test_without_a_checkout_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend_to_run_from(tmp_path, monkeypatch)

    assert main(["bench"]) == 1

    assert "run this from a checkout" in capsys.readouterr().err


def test_the_checkout_is_found_beside_the_sources() -> None:
    root = bench_command.find_checkout()

    here = Path(__file__).resolve().parents[3]
    assert root == (here if (here / "benchmarks" / "__main__.py").is_file() else None)


def test_an_interrupted_benchmark_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_checkout(tmp_path, "")
    pretend_to_run_from(tmp_path, monkeypatch)
    monkeypatch.setattr(
        bench_command.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=-2)
    )

    assert main(["bench"]) == 130
