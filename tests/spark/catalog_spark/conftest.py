"""The session with our names in it, and archives to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from s3 import s3_endpoint, s3_url  # noqa: F401  (fixtures)

from aerolog.catalog.spark import register
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 3000


@pytest.fixture(scope="session")
def registered(spark: Any) -> Any:
    """The one session of all tests."""
    register(spark)
    return spark


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings in segments of 64 KiB, one of them of JSON with a bad line now and then."""
    folder = tmp_path_factory.mktemp("archive")
    for stream_id in (5, 6):
        builder = RecordingBuilder(stream_id=stream_id, session_id=-stream_id)
        for index in range(COUNT):
            good = b'{"n": %d, "name": "%s"}' % (index, b"x" * (index % 50))
            bad = stream_id == 5 and index % 1000 == 7
            builder.add(b"oops" if bad else good, reserved_value=index)
        builder.write(folder)
    return folder
