"""An archive whose catalog has a million entries: start, listing, find, memory. No segments."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.client import AeronArchive
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.format.layout import (
    CATALOG_HEADER,
    CATALOG_HEADER_LENGTH,
    CATALOG_NAME,
    DESCRIPTOR,
    ENTRY_HEADER_LENGTH,
)
from aerolog.transport.client import Aeron
from benchmarks.archive_servers import JAVA, JAVA_NAME, OURS, archiving
from benchmarks.durations import median_ms
from benchmarks.folders import archive_folder, temporary_folder
from benchmarks.result import BenchmarkFailedError, PeerUnavailableError, Result

if TYPE_CHECKING:
    from aerolog.transport.protocol.fixed_layout import Field

ENTRIES = 1_000_000
LISTED = 1000
ROUNDS = 20
WARM_UP_ROUNDS = 5
PATIENCE_S = 60.0
# Only this recording matches; the search goes from the last to the first.
WANTED, WANTED_STREAM_ID, WANTED_SESSION_ID = 10, 7, 77
CHANNEL = "aeron:udp?endpoint=localhost:20121|alias=a-channel-of-usual-length"
_LONG = struct.Struct("<q")
_IDENTITY = struct.Struct("<ii")


def million() -> list[Result]:
    """Seconds until clients are answered, milliseconds of requests, MiB of memory."""
    with temporary_folder(archive_folder()) as folder:
        catalog = make_catalog(Path(folder), ENTRIES)
        ours = _measure(OURS, catalog)
        try:
            peer: list[float] | list[None] = _measure(JAVA, catalog)
            name = JAVA_NAME
        except (PeerUnavailableError, BenchmarkFailedError) as reason:
            peer, name = [None] * len(ours), f"{JAVA_NAME}: {reason}"
    rows = (
        ("catalog-1m-start", "s"),
        ("catalog-1m-list", "ms"),
        ("catalog-1m-find", "ms"),
        ("catalog-1m-memory", "MiB"),
    )
    return [
        Result(row, unit, mine, theirs, name, smaller_is_better=True)
        for (row, unit), mine, theirs in zip(rows, ours, peer, strict=True)
    ]


def make_catalog(folder: Path, entries: int) -> Path:
    """A catalog of stopped recordings that differ in their ids, but for one."""
    with CatalogFile.open(folder) as catalog:
        catalog.add_recording(
            RecordingDescriptor(
                recording_id=0,
                start_timestamp=1_700_000_000_000,
                stop_timestamp=1_700_000_001_000,
                start_position=0,
                stop_position=0,
                initial_term_id=1,
                segment_file_length=128 * 1024 * 1024,
                term_buffer_length=64 * 1024 * 1024,
                mtu_length=1408,
                session_id=1,
                stream_id=1,
                stripped_channel=CHANNEL.partition("|")[0],
                original_channel=CHANNEL,
                source_identity="127.0.0.1:40000",
            )
        )
        end = catalog.end_offset
    path = folder / CATALOG_NAME
    data = path.read_bytes()
    header = bytearray(data[:CATALOG_HEADER_LENGTH])
    _LONG.pack_into(header, _offset(CATALOG_HEADER, "next_recording_id"), entries)
    entry = bytearray(data[CATALOG_HEADER_LENGTH:end])
    id_at = ENTRY_HEADER_LENGTH + _offset(DESCRIPTOR, "recording_id")
    identity_at = ENTRY_HEADER_LENGTH + _offset(DESCRIPTOR, "session_id")
    with path.open("wb") as file:
        file.write(header)
        for index in range(entries):
            wanted = index == WANTED
            _LONG.pack_into(entry, id_at, index)
            _IDENTITY.pack_into(
                entry,
                identity_at,
                WANTED_SESSION_ID if wanted else 1,
                WANTED_STREAM_ID if wanted else 1,
            )
            file.write(entry)
    return path


def _offset(table: tuple[Field, ...], name: str) -> int:
    return next(field.offset for field in table if field.name == name)


def _measure(kind: str, catalog: Path) -> list[float]:
    """Start in seconds, list and find in milliseconds, resident memory in MiB."""
    with archiving(kind, archive_files=[catalog], ready_s=PATIENCE_S) as server:
        with (
            Aeron(server.aeron_dir) as aeron,
            AeronArchive(aeron, message_timeout=PATIENCE_S) as archive,
        ):
            listed = median_ms(lambda: _list(archive), ROUNDS, WARM_UP_ROUNDS)
            found = median_ms(lambda: _find(archive), ROUNDS, WARM_UP_ROUNDS)
        return [server.start_s, listed, found, server.resident_bytes / 1024 / 1024]


def _list(archive: AeronArchive) -> None:
    found = [each.recording_id for each in archive.list_recordings(ENTRIES // 2, LISTED)]
    if found != list(range(ENTRIES // 2, ENTRIES // 2 + LISTED)):
        raise BenchmarkFailedError(f"{len(found)} recordings listed from {ENTRIES // 2} on")


def _find(archive: AeronArchive) -> None:
    found = archive.find_last_matching_recording(
        0, "localhost:20121", WANTED_STREAM_ID, WANTED_SESSION_ID
    )
    if found != WANTED:
        raise BenchmarkFailedError(f"recording {found} found instead of {WANTED}")
