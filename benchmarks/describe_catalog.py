"""``describe`` of a catalog with 100,000 recordings, by our archive tool and by the reference's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.protocol.mark_header import MarkFileHeader
from aerolog.testing.recordings import RecordingBuilder
from benchmarks.folders import archive_folder, temporary_folder
from benchmarks.java import PEER_NAME, java_command
from benchmarks.processes import AEROLOG, wall_ms
from benchmarks.result import BenchmarkFailedError, PeerUnavailableError, Result

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORDINGS = int(os.environ.get("AEROLOG_BENCH_DESCRIBED", "100000"))
ROUNDS = 7
_ENTRY_LENGTH = 320
_HEAD_LINES = 4


def describe() -> list[Result]:
    """Wall time in milliseconds of whole processes, output discarded; median."""
    with temporary_folder(archive_folder()) as folder:
        _make_archive(folder)
        ours = [*AEROLOG, "archive-tool", folder, "describe"]
        try:
            theirs = [*java_command([], "io.aeron.archive.ArchiveTool"), folder, "describe"]
            _check(ours, theirs)
            peer: float | None = wall_ms(theirs, ROUNDS)
            name = PEER_NAME.format("ArchiveTool describe")
        except PeerUnavailableError as reason:
            peer, name = None, f"ArchiveTool: {reason}"
        figure = wall_ms(ours, ROUNDS)
    return [Result("describe", "ms", figure, peer, name, smaller_is_better=True)]


def _make_archive(folder: str) -> None:
    recording = RecordingBuilder()
    with CatalogFile.open(folder, capacity=64 + RECORDINGS * _ENTRY_LENGTH) as catalog:
        for index in range(RECORDINGS):
            endpoint = f"localhost:{20_000 + index % 1000}"
            channel = f"aeron:udp?endpoint={endpoint}|term-length=64k|alias=stream-{index}"
            catalog.add_recording(recording.descriptor(channel=channel))
    header = MarkFileHeader(
        start_timestamp=1_700_000_000_000,
        pid=1,
        control_stream_id=10,
        local_control_stream_id=10,
        events_stream_id=30,
        archive_id=1,
        control_channel="aeron:udp?endpoint=localhost:8010",
        local_control_channel="aeron:ipc",
        events_channel="",
        aeron_directory=str(Path(folder) / "aeron"),
    )
    ArchiveMarkFile.claim(folder, header).terminated()


def _check(ours: Sequence[str], theirs: Sequence[str]) -> None:
    """Both print the same, but for the time of day in the second line."""
    printed = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        for command in (ours, theirs)
    ]
    if printed[0][2:] != printed[1][2:] or len(printed[0]) != _HEAD_LINES + RECORDINGS:
        raise BenchmarkFailedError(
            f"{len(printed[0])} and {len(printed[1])} lines are not the same"
        )
