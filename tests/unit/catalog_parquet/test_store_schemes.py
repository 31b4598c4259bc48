"""One table says which store a URL's scheme names, for reading archives and for exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import fs

from aerolog.catalog.export import check_export, export_parquet
from aerolog.catalog.export.store import open_store
from aerolog.catalog.locations import open_place
from aerolog.catalog.object_store import SCHEMES
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.database
@pytest.mark.timeout(200)
def test_a_scheme_of_the_table_is_read_and_written(
    empty_archive: Path, s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store of a scheme that only this table knows is in truth one of S3."""

    def reach(url: str, *_: str) -> tuple[Any, str]:
        store, bucket = fs.FileSystem.from_uri(s3_url)
        return store, f"{bucket}/{url.removeprefix('shelf://')}"

    monkeypatch.setitem(SCHEMES, "shelf", reach)
    builder = RecordingBuilder()
    for number in range(100):
        builder.add(b"%d" % number)
    builder.write(empty_archive)
    store, folder = reach("shelf://archive")
    fs.copy_files(str(empty_archive), folder, destination_filesystem=store)

    report = export_parquet("shelf://archive", None, "shelf://out", partition_by=("recording_id",))
    assert (report.rows, report.complete) == (100, True)
    assert check_export("shelf://out").rows == 100


@pytest.mark.parametrize("open_it", [open_store, open_place])
def test_another_scheme_is_refused_with_those_that_are_known(open_it: Any) -> None:
    with pytest.raises(ConfigurationError, match="shelf://archive is no.* file, s3, gs, gcs, abfs"):
        open_it("shelf://archive")
