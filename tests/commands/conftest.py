"""Archives' folders for commands on damaged input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from s3 import s3_endpoint, s3_url

from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.labels import label
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["s3_endpoint", "s3_url"]


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with recordings of JSON messages, one of them unfinished, and a SQL catalog."""
    folder: Path = tmp_path_factory.mktemp("commands") / "archive"
    folder.mkdir()
    for stream_id, messages in enumerate([1, 100, 40, 500]):
        builder = RecordingBuilder(stream_id=stream_id)
        for number in range(messages):
            builder.add(b'{"n":%d,"word":"%s"}' % (number, b"x" * (number % 200)))
        builder.write(folder, stopped=stream_id != 2)
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder, fingerprints=True)
        label(catalog, folder, [1], tags={"carrier": "AA"}, name="first")
    return folder
