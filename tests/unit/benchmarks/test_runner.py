"""The benchmark runner: names, exit codes and the form of its figures."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(CHECKOUT))
    return importlib.import_module("benchmarks.runner"), importlib.import_module(
        "benchmarks.result"
    )


def test_an_unknown_name_is_a_usage_error_that_names_the_known_ones():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "ipc-33"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "ipc-33" in done.stderr
    assert "ipc-32-batch" in done.stderr
    assert done.stdout == ""


def test_json_is_a_list_of_figures(benchmarks, monkeypatch, capsys):
    runner, result = benchmarks
    figure = result.Result("fast", "messages/s", 30.0, 20.0, "peer")
    alone = result.Result("alone", "us", 0.5, None, "peer: not installed", smaller_is_better=True)
    monkeypatch.setattr(runner, "BENCHMARKS", {"fast": lambda: [figure], "alone": lambda: [alone]})
    assert runner.main([], as_json=True) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "name": "fast",
            "unit": "messages/s",
            "ours": 30.0,
            "peer": 20.0,
            "peer_name": "peer",
            "ratio": 1.5,
        },
        {
            "name": "alone",
            "unit": "us",
            "ours": 0.5,
            "peer": None,
            "peer_name": "peer: not installed",
            "ratio": None,
        },
    ]


def test_a_failed_benchmark_is_told_and_the_others_run(benchmarks, monkeypatch, capsys):
    runner, result = benchmarks

    def fail():
        raise result.BenchmarkFailedError("3 of 4 messages")

    figure = result.Result("good", "MB/s", 2.0, 1.0, "peer")
    monkeypatch.setattr(runner, "BENCHMARKS", {"bad": fail, "good": lambda: [figure]})
    assert runner.main(["bad", "good"]) == 1
    told = capsys.readouterr()
    assert "3 of 4 messages" in told.err
    assert "good" in told.out
    assert "2.00" in told.out


def test_a_ratio_above_one_is_always_in_our_favour(benchmarks):
    _, result = benchmarks
    assert result.Result("rate", "1/s", 4.0, 2.0, "peer").ratio == 2.0
    assert result.Result("latency", "us", 4.0, 2.0, "peer", smaller_is_better=True).ratio == 0.5


def test_a_figure_stands_beside_each_of_its_peers(benchmarks, monkeypatch, capsys):
    runner, result = benchmarks
    others = (result.Peer(10.0, "another"), result.Peer(None, "a third: not installed"))
    figure = result.Result("fast", "messages/s", 30.0, 20.0, "peer", more=others)
    monkeypatch.setattr(runner, "BENCHMARKS", {"fast": lambda: [figure]})
    assert runner.main([], as_json=True) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["peer"], told["ratio"]) == (20.0, 1.5)
    assert told["more"] == [
        {"peer": 10.0, "peer_name": "another", "ratio": 3.0},
        {"peer": None, "peer_name": "a third: not installed", "ratio": None},
    ]
    assert runner.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("   ")[-1] for line in lines] == [
        "peer",
        "another",
        "a third: not installed",
    ]
    assert all(line.startswith("fast ") for line in lines)


def test_round_trips_are_medians_of_rounds_in_which_the_drivers_take_turns(benchmarks, monkeypatch):
    udp = importlib.import_module("benchmarks.udp")
    rounds = []

    def measure(kind, mode):
        if kind == "java":
            raise udp.PeerUnavailableError("not installed")
        rounds.append((kind, mode))
        slow = 100.0 if mode != "SHARED" else 0.0
        if len(rounds) in {6, 12, 18}:  # bad rounds
            slow = 1000.0
        return {50.0: slow + {"ours": 20.0, "c": 30.0}[kind], 99.0: 40.0}

    monkeypatch.setattr(udp, "_round_trip_percentiles", measure)
    half, most = udp.round_trips()
    assert rounds == [(kind, mode) for kind in ("ours", "c") for mode in udp.MODES] * 10
    assert (half.ours, half.peer, half.more[0].figure) == (20.0, None, 30.0)
    assert half.peer_name.endswith(": not installed (ours SHARED)")
    assert half.more[0].name == "Aeron 1.51.0 (C) driver SHARED (ours SHARED)"
    assert (half.name, most.name) == ("udp-rtt-p50", "udp-rtt-p99")
