"""The recording that the scan's benchmark makes, and how it is read."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from aerolog.catalog import open_recording

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture
def scan(monkeypatch):
    monkeypatch.syspath_prepend(str(CHECKOUT))
    return importlib.import_module("benchmarks.scan")


@pytest.mark.parametrize("payload_length", [64, 1000])
def test_every_message_of_it_is_read(scan, monkeypatch, tmp_path, payload_length) -> None:
    monkeypatch.setattr(scan, "TERM_LENGTH", 64 * 1024)
    monkeypatch.setattr(scan, "SEGMENT_LENGTH", 128 * 1024)
    made = scan.make_recording(tmp_path, payload_length, 300_000)
    assert made.length == 5 * 64 * 1024
    assert scan._scan_once(made, payload_length) >= 0
    payload = bytes(index % 256 for index in range(payload_length))
    with open_recording(tmp_path, 0) as recording:
        assert recording.to_arrow()["payload"].to_pylist() == [payload] * made.frames


def test_a_row_that_is_missing_fails_it(scan, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(scan, "TERM_LENGTH", 64 * 1024)
    monkeypatch.setattr(scan, "SEGMENT_LENGTH", 128 * 1024)
    made = scan.make_recording(tmp_path, 64, 100_000)
    with pytest.raises(scan.BenchmarkFailedError, match="rows of"):
        scan._scan_once(scan.Made(made.folder, made.length, made.frames + 1), 64)
