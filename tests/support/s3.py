"""An S3-compatible server for tests: moto's, as a process of its own on the loopback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test-secret"}
_PROGRAM = """
import sys
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
server = make_server(
    "127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True
)
print(f"listening on {server.port}", flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """``host:port`` of a server that has nothing yet; ends with the session."""
    server = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | CREDENTIALS | {"AWS_DEFAULT_REGION": "us-east-1"},
    )
    try:
        assert server.stdout is not None
        # The line comes when the port is bound, or not at all: then reading ends with the process.
        line = server.stdout.readline()
        match = re.fullmatch(r"listening on (\d+)\n", line)
        assert match is not None, f"no S3 server, it said {line!r}"
        yield f"127.0.0.1:{match[1]}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def s3_url(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """URL of an empty bucket, with ``?endpoint_override=...``; credentials are in the environment.

    Put a path before the question mark: ``url.replace("?", "/folder?")``.
    """
    from pyarrow import fs

    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    bucket = f"bucket-{uuid.uuid4().hex}"
    query = f"endpoint_override={s3_endpoint}&scheme=http&region=us-east-1"
    store, _ = fs.FileSystem.from_uri(f"s3://{bucket}?{query}&allow_bucket_creation=true")
    store.create_dir(bucket)
    return f"s3://{bucket}?{query}"
