"""Every file of a running driver and archive of either kind is known, sound, and left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from peer.streams import free_port
from waits import wait_until

from aerolog.archive.client import AeronArchive, SourceLocation
from aerolog.tools.explain.explainer import explain
from aerolog.transport.client import Aeron

pytestmark = pytest.mark.interop

KINDS = {"cnc", "log", "loss report", "catalog", "mark file", "segment"}


@pytest.mark.parametrize("implementation", ["ours", "reference"])
def test_all_files(implementation: str, start_server: Any, stream_id: int) -> None:
    server = start_server(implementation, "archiving-driver")
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
    with Aeron(server.aeron_dir) as aeron, AeronArchive(aeron) as archive:
        # Not a spy of the publication: there are to be logs of an image, too.
        archive.start_recording(channel, stream_id, SourceLocation.REMOTE)
        with aeron.add_exclusive_publication(channel, stream_id) as publication:
            publication.wait_connected(30, writable=True)
            (entry,) = wait_until(
                lambda: list(archive.recordings(stream_id=stream_id)), "the recording"
            )
            for size in (0, 10, 5000):
                publication.send(b"x" * size, timeout=30)
            wait_until(
                lambda: archive.recording_position(entry.recording_id) == publication.position,
                "all to be recorded",
            )
            paths = [
                path
                for folder in (server.aeron_dir, server.archive_dir)
                for path in sorted(Path(folder).rglob("*"))
                if path.is_file()
            ]
            explained = [explain(str(path), 20) for path in paths]
    own = {"duty cycles", "reserve", "time index"} if implementation == "ours" else set()
    assert {one.kind for one in explained} == KINDS | own
    assert [(one.path, one.damage) for one in explained if one.damage] == []
    logs = {row.note for one in explained if one.kind == "log" for row in one.sections[0].rows}
    assert logs >= {"exclusive publication", "image"}
    catalog = next(one for one in explained if one.kind == "catalog")
    fields = {row.name: row.value for row in catalog.sections[1].rows}
    assert fields["stream_id"] == stream_id
    assert fields["stop_position"] == -1
    segment = next(one for one in explained if one.kind == "segment")
    counts = {row.name: row.value for row in segment.sections[0].rows}
    assert counts["messages"] == 3
    assert counts["stream_id"] == stream_id
