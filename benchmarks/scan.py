"""A recording as Arrow batches, beside a memcpy of the same bytes out of a mapping."""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aerolog.archive.format.archive_folder import ScanTotals
from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.archive.format.descriptor import RecordingDescriptor
from aerolog.archive.format.segment import segment_file_name
from aerolog.catalog.arrow.arrow_recording import open_recording
from aerolog.transport.protocol.frame_header import FRAME_HEADER, FRAME_HEADER_STRUCT
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH
from benchmarks.embedded_archive import frame_length
from benchmarks.folders import chosen_folder, temporary_folder
from benchmarks.native_loops import native
from benchmarks.result import BenchmarkFailedError, Result

DATA_BYTES = int(os.environ.get("AEROLOG_BENCH_SCAN_BYTES") or 2 * 1024**3)
ROUNDS = 9
TERM_LENGTH = 16 * 1024 * 1024
SEGMENT_LENGTH = 128 * 1024 * 1024
SESSION_ID, STREAM_ID, INITIAL_TERM_ID = 77, 10, 3
PEER_NAME = "memcpy of the mapped segments"
_OFFSET = {field.name: field.offset for field in FRAME_HEADER}


@dataclass(frozen=True, slots=True)
class Made:
    """A recording that was made for measuring.

    Attributes:
        folder: the archive's folder.
        length: bytes of the stream, frames and padding.
        frames: DATA frames.
    """

    folder: Path
    length: int
    frames: int


def scan(payload_length: int) -> list[Result]:
    """Rate of a scan of position and payload on one core; bytes of the stream, frames included.

    Both sides are measured in processor time, which is the time it takes when the bytes are in
    memory and nobody else wants the processor.

    Raises:
        BenchmarkFailedError: rows or payloads are missing.
    """
    with temporary_folder(chosen_folder()) as folder:
        made = make_recording(Path(folder), payload_length, DATA_BYTES)
        mine, theirs = [], []
        _scan_once(made, payload_length)
        for _ in range(ROUNDS):
            mine.append(_scan_once(made, payload_length))
            theirs.append(_copy_once(made))
    ours, peer = statistics.median(mine), statistics.median(theirs)
    results = [
        Result(
            f"scan-{payload_length}",
            "MB/s",
            made.length / ours / 1e6,
            made.length / peer / 1e6,
            PEER_NAME,
        )
    ]
    if payload_length < DATA_HEADER_LENGTH * 8:
        frames = made.frames / ours
        results.append(Result(f"scan-{payload_length}-frames", "frames/s", frames, None, "no peer"))
    return results


def make_recording(folder: Path, payload_length: int, length: int) -> Made:
    """A folder with one stopped recording of equal messages, in whole terms.

    Args:
        folder: an empty one.
        payload_length: bytes of each message, below an MTU.
        length: bytes of the stream, rounded up to whole terms.
    """
    terms = max(-(-length // TERM_LENGTH), 1)
    descriptor = RecordingDescriptor(
        recording_id=0,
        start_timestamp=1_700_000_000_000,
        stop_timestamp=1_700_000_001_000,
        start_position=0,
        stop_position=terms * TERM_LENGTH,
        initial_term_id=INITIAL_TERM_ID,
        segment_file_length=SEGMENT_LENGTH,
        term_buffer_length=TERM_LENGTH,
        mtu_length=1408,
        session_id=SESSION_ID,
        stream_id=STREAM_ID,
        stripped_channel="aeron:ipc",
        original_channel="aeron:ipc",
        source_identity="aeron:ipc",
    )
    with CatalogFile.open(folder) as catalog:
        catalog.add_recording(descriptor)
    term, count = _term(payload_length)
    per_segment = SEGMENT_LENGTH // TERM_LENGTH
    for first in range(0, terms, per_segment):
        path = folder / segment_file_name(0, first * TERM_LENGTH)
        with path.open("wb") as file:
            for index in range(first, min(first + per_segment, terms)):
                _set_term_id(term, payload_length, INITIAL_TERM_ID + index)
                file.write(term)
            file.truncate(SEGMENT_LENGTH)
    return Made(folder, terms * TERM_LENGTH, terms * count)


def _term(payload_length: int) -> tuple[np.ndarray, int]:
    """A term full of messages, padded at its end, and their number."""
    stride = frame_length(payload_length)
    count = TERM_LENGTH // stride
    term = np.zeros(TERM_LENGTH, np.uint8)
    header = FRAME_HEADER_STRUCT.pack(
        DATA_HEADER_LENGTH + payload_length, 0, 0xC0, 1, 0, SESSION_ID, STREAM_ID, 0, 0
    )
    frames = term[: count * stride].reshape(count, stride)
    frames[:, :DATA_HEADER_LENGTH] = np.frombuffer(header, np.uint8)
    frames[:, DATA_HEADER_LENGTH : DATA_HEADER_LENGTH + payload_length] = np.arange(
        payload_length, dtype=np.uint32
    ).astype(np.uint8)
    _column(frames, "term_offset")[:] = np.arange(count, dtype=np.int32) * stride
    left = TERM_LENGTH - count * stride
    if left:
        term[count * stride : count * stride + DATA_HEADER_LENGTH] = np.frombuffer(
            FRAME_HEADER_STRUCT.pack(left, 0, 0xC0, 0, count * stride, SESSION_ID, STREAM_ID, 0, 0),
            np.uint8,
        )
    return term, count


def _column(frames: np.ndarray, name: str) -> np.ndarray:
    """A field of 4 bytes in all frames, to be written to."""
    return frames.view(np.int32)[:, _OFFSET[name] // 4]


def _set_term_id(term: np.ndarray, payload_length: int, term_id: int) -> None:
    stride = frame_length(payload_length)
    count = TERM_LENGTH // stride
    _column(term[: count * stride].reshape(count, stride), "term_id")[:] = term_id
    if count * stride < TERM_LENGTH:
        term[count * stride :].view(np.int32)[_OFFSET["term_id"] // 4] = term_id


def _scan_once(made: Made, payload_length: int) -> float:
    """Seconds of processor time that it takes."""
    totals = ScanTotals(0)
    position = 0
    begun = time.process_time()
    with open_recording(made.folder, 0) as recording:
        for batch in recording.to_batches(columns=("position", "payload"), totals=totals):
            position = batch["position"][-1].as_py()
    seconds = time.process_time() - begun
    if totals.rows != made.frames or totals.payload_bytes != made.frames * payload_length:
        raise BenchmarkFailedError(f"{totals.rows} rows of {made.frames} frames")
    if not made.length - TERM_LENGTH < position <= made.length:
        raise BenchmarkFailedError(f"the last row ends at {position} of {made.length}")
    return seconds


def _copy_once(made: Made) -> float:
    """Seconds of processor time that it takes."""
    paths, lengths = [], []
    for base in range(0, made.length, SEGMENT_LENGTH):
        paths.append(str(made.folder / segment_file_name(0, base)))
        lengths.append(min(made.length - base, SEGMENT_LENGTH))
    nanoseconds: int = native("segment_copy").copy_segments(paths, lengths)
    return nanoseconds / 1e9
