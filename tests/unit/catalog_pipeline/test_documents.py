"""What docs/catalog/pipeline.md shows is what the package takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.catalog.export.pipeline import load_plan
from aerolog.catalog.export.pipeline.job import load_job
from aerolog.catalog.export.pipeline.job_run import check_decoder
from aerolog.catalog.index.search_text import parse_search

if TYPE_CHECKING:
    import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "catalog" / "pipeline.md").read_text()


def test_the_job_that_is_shown_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "job.toml"
    path.write_text(text)
    job = load_job(path)
    assert check_decoder(job).schema.names == ["order_id", "price", "day"]
    assert parse_search(dict(job.conditions)).stream_id == 1001
    defaults = load_job_with(tmp_path, 'name = "n"\narchive-dir = "a"\n[output]\nto = "b"\n').output
    for name in ("date_column", "compression", "unit_bytes", "rejected_max", "skip_damage"):
        assert getattr(job.output, name) == getattr(defaults, name)
    monkeypatch.setenv("DB_PASSWORD", "p")
    path.write_text(text.replace("# catalog", "catalog").replace("# sync", "sync"))
    whole = load_job(path)
    assert whole.catalog == "postgresql+psycopg://loader:p@db/fleet"
    assert not whole.sync


def load_job_with(tmp_path: Path, text: str):
    path = tmp_path / "least.toml"
    path.write_text(text)
    return load_job(path)


def test_every_status_is_explained() -> None:
    table = PAGE.partition("| status |")[2]
    names = ("NEW", "EXTENDED", "UNCHANGED", "PURGED", "LOST", "SHORTENED", "UNREADABLE")
    for name in names:
        assert f"`{getattr(load_plan, name)}`" in table
