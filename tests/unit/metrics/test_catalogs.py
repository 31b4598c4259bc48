"""Metrics of SQL catalogs, in both kinds of database."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from postgres import postgres_server, postgres_url  # noqa: F401
from sql_catalogs import url  # noqa: F401

from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.metrics import catalog_metrics
from aerolog.tools.metrics.catalog_metrics import CatalogSource
from aerolog.tools.metrics.metrics_exporter import Exporter, MetricSources
from aerolog.tools.metrics.samples import Samples

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

Values = dict[tuple[str, ...], float]


def collect(exporter: Exporter) -> dict[str, Values]:
    return {one.family.name.removeprefix("aerolog_"): one.values for one in exporter.collect()}


def test_a_catalog_s_recordings(
    url: str,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalog_metrics, "_PATIENCE_S", 60)
    folder = tmp_path / "archive"
    folder.mkdir()
    for stopped in (True, False):
        builder = RecordingBuilder()
        builder.add(b"x" * 100)
        builder.write(folder, stopped=stopped)
    with Exporter(MetricSources((), (), (url,), interval_s=1e-9)) as exporter:
        assert list(collect(exporter)["catalog_up"].values()) == [0]
        assert not (tmp_path / "catalog.db").exists()

        with RecordingCatalog.open(url) as catalog:
            sync_folder(catalog, folder)
        found = collect(exporter)

    ((shown,),) = found["catalog_up"]
    assert found["catalog_up"] == {(shown,): 1}
    assert {(labels[0], labels[2]): n for labels, n in found["catalog_recordings"].items()} == {
        (shown, "stopped"): 1,
        (shown, "active"): 1,
    }
    ((size),) = found["catalog_recorded_bytes"].values()
    assert size > 0
    ((newest),) = found["catalog_newest_recording_time_seconds"].values()
    assert newest == 1_700_000_000


def test_a_database_that_is_slow_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = threading.Event()
    monkeypatch.setattr(catalog_metrics, "_PATIENCE_S", 0)
    source = CatalogSource(f"sqlite:///{tmp_path / 'catalog.db'}", 10, 1)
    row = catalog_metrics._CatalogRow("here", "stopped", 3, 300, None)

    def slow() -> list[catalog_metrics._CatalogRow]:
        assert answer.wait(60)
        return [row]

    monkeypatch.setattr(source, "_read", slow)
    try:
        for now_ms in (0, 10, 20):
            samples = Samples(now_ms)
            source.collect(samples)
            assert next(one.values for one in samples.collected()) == {(source.shown,): 0}
    finally:
        answer.set()
    monkeypatch.setattr(catalog_metrics, "_PATIENCE_S", 60)
    samples = Samples(30)
    source.collect(samples)
    found = {one.family.name: one.values for one in samples.collected()}
    assert found["aerolog_catalog_recordings"] == {(source.shown, "here", "stopped"): 3}
    source.close()
