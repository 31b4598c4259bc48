"""The catalog that the benchmark makes is one that an archive opens."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from aerolog.archive.format.catalog_file import CatalogFile

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture
def million(monkeypatch):
    monkeypatch.syspath_prepend(str(CHECKOUT))
    return importlib.import_module("benchmarks.catalog_million")


def test_one_recording_alone_has_the_wanted_stream(million, tmp_path) -> None:
    path = million.make_catalog(tmp_path, 50)
    assert path == tmp_path / "archive.catalog"
    with CatalogFile.open(tmp_path) as catalog:
        found = [catalog.descriptor(recording_id) for recording_id in range(50)]
        assert catalog.next_recording_id == 50
    wanted = [d.recording_id for d in found if d.stream_id == million.WANTED_STREAM_ID]
    assert wanted == [million.WANTED]
    assert found[million.WANTED].session_id == million.WANTED_SESSION_ID
    assert [d.recording_id for d in found] == list(range(50))
    assert {d.original_channel for d in found} == {million.CHANNEL}
