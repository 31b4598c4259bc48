"""Recording and replaying one stream through an archiving driver in this process."""

from __future__ import annotations

import statistics

from benchmarks.embedded_archive import (
    MEGABYTE,
    embedded_archive,
    frame_length,
    record_messages,
    replay_messages,
)
from benchmarks.folders import archive_folder, temporary_folder
from benchmarks.java import PEER_NAME, bandwidths
from benchmarks.result import PeerUnavailableError, Result
from benchmarks.udp import free_port

CHANNEL = "aeron:ipc"
STREAM_ID = 1033
# Bytes of frames in a round: so many that the first pages of a new log, which either side touches
# once, do not decide.
ROUND_BYTES = 2 * 1024 * 1024 * 1024
FRAGMENT_LIMIT = 10
ROUNDS = 5
WARM_UP_ROUNDS = 1
# How often the peer is started until it has given as many figures as we have; see bandwidths.
PEER_ATTEMPTS = 4


def _messages(length: int) -> int:
    return ROUND_BYTES // frame_length(length)


def _rate(length: int, elapsed: float) -> float:
    return _messages(length) * frame_length(length) / MEGABYTE / elapsed


def _peer(name: str, length: int) -> tuple[float | None, str]:
    peer_name = PEER_NAME.format(name)
    port = free_port()
    properties = {
        "aeron.archive.control.channel": f"aeron:udp?endpoint=localhost:{port}",
        "aeron.archive.control.response.channel": "aeron:udp?endpoint=localhost:0",
        "aeron.archive.replication.channel": "aeron:udp?endpoint=localhost:0",
        "aeron.sample.channel": CHANNEL,
        "aeron.sample.messageLength": str(length),
        "aeron.sample.messages": str(_messages(length)),
    }
    figures: list[float] = []
    try:
        for _ in range(PEER_ATTEMPTS):
            found = bandwidths(f"io.aeron.samples.archive.{name}", properties, ROUNDS)
            figures += found[WARM_UP_ROUNDS:]
            if len(figures) >= ROUNDS - WARM_UP_ROUNDS:
                break
    except PeerUnavailableError as reason:
        return None, f"{peer_name}: {reason}"
    if not figures:
        return None, f"{peer_name}: ended in its first round, {PEER_ATTEMPTS} times"
    return statistics.median(figures), peer_name


def record(length: int) -> list[Result]:
    """MB/s from the first offer until the archive has written everything.

    Each round has a new folder, as the peer truncates its recording after each: what is gone need
    not be written back by the system, so the archive is measured and not the disk.
    """
    rates = []
    messages = _messages(length)
    for _ in range(ROUNDS):
        with temporary_folder(archive_folder()) as folder, embedded_archive(folder) as archive:
            elapsed, recording_id, position = record_messages(
                archive, CHANNEL, STREAM_ID, length, messages
            )
            rates.append(_rate(length, elapsed))
            replay_messages(archive, recording_id, position, length, messages, FRAGMENT_LIMIT)
    peer, peer_name = _peer("EmbeddedRecordingThroughput", length)
    ours = statistics.median(rates[WARM_UP_ROUNDS:])
    return [Result(f"record-{length}", "MB/s", ours, peer, peer_name)]


def replay(length: int) -> list[Result]:
    """MB/s of a whole replay, with its request and connection, as the peer measures it."""
    messages = _messages(length)
    with temporary_folder(archive_folder()) as folder, embedded_archive(folder) as archive:
        _, recording_id, position = record_messages(archive, CHANNEL, STREAM_ID, length, messages)
        times = [
            replay_messages(archive, recording_id, position, length, messages, FRAGMENT_LIMIT)
            for _ in range(ROUNDS)
        ]
    peer, peer_name = _peer("EmbeddedReplayThroughput", length)
    ours = statistics.median(_rate(length, each) for each in times[WARM_UP_ROUNDS:])
    return [Result(f"replay-{length}", "MB/s", ours, peer, peer_name)]
