"""Files that become shorter between being opened and being read: no zeros are taken for content."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from aerolog.tools.archive_files.catalog_editor import EditableCatalog
from aerolog.tools.archive_files.compaction import plan_compaction
from aerolog.tools.archive_files.raw_catalog import RawCatalog
from aerolog.tools.archive_files.raw_frames import FrameReader, block_fields
from aerolog.tools.explain import explainer, file_kinds
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

READERS: dict[str, Callable[[RawCatalog], object]] = {
    "an entry": lambda catalog: catalog.frame(catalog.offsets[2], catalog.lengths[2]),
    "an id": lambda catalog: catalog.find(11),
    "the valid entries": lambda catalog: catalog.valid,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_catalog_that_was_cut_is_told_at_the_read(folder: Path, reader: str) -> None:
    catalog = RawCatalog.open(str(folder))
    os.truncate(folder / "archive.catalog", 0)
    with pytest.raises(FileFormatError, match=r"archive\.catalog became shorter"):
        READERS[reader](catalog)


def test_a_catalog_that_was_cut_is_not_compacted(folder: Path) -> None:
    with EditableCatalog.view(str(folder)) as catalog:
        os.truncate(folder / "archive.catalog", 0)
        with pytest.raises(FileFormatError, match=r"archive\.catalog became shorter"):
            plan_compaction(str(folder), catalog)


def test_a_segment_that_was_cut_is_told_at_the_frame_and_at_its_payload(folder: Path) -> None:
    catalog = RawCatalog.open(str(folder))
    reader = FrameReader(str(folder), block_fields(catalog.frame(*catalog.find(3))))
    first = reader.next()
    assert first is not None
    (segment,) = folder.glob("3-*.rec")
    os.truncate(segment, 0)
    with pytest.raises(FileFormatError, match=rf"{segment.name} became shorter"):
        _ = reader.next()
    with pytest.raises(FileFormatError, match=rf"{segment.name} became shorter"):
        _ = first.payload


@pytest.mark.parametrize("name", ["archive.catalog", "3-0.rec"])
def test_an_explanation_says_that_its_file_was_cut(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    kind_of = file_kinds.kind_of

    def cut_behind_the_back(*arguments: object) -> str | None:
        kind = kind_of(*arguments)  # type: ignore[arg-type]
        os.truncate(folder / name, 0)
        return kind

    monkeypatch.setattr(file_kinds, "kind_of", cut_behind_the_back)
    explained = explainer.explain(str(folder / name), 0)
    assert explained.sections == []
    assert str(explained.damage).startswith(f"{folder / name} became shorter while it was read")
