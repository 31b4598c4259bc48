"""Times without a zone: what people write is local, a datetime of a program is UTC."""

from __future__ import annotations

import time
import tomllib
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from aerolog.archive.client import AeronArchive, AsyncAeronArchive
from aerolog.archive.client.replay.channel_replay import ChannelReplay
from aerolog.archive.client.replay.merged_replay import MergedReplay
from aerolog.archive.client.replay.timed_replay import TimedReplay
from aerolog.archive.time_index import TimeIndex, epoch_ns
from aerolog.catalog.arrow.arrow_recording import record_batches
from aerolog.catalog.arrow.dataset import ArchiveDataset
from aerolog.catalog.export.pipeline.job import load_job
from aerolog.catalog.index.search_text import parse_search
from aerolog.catalog.times import TimeRange, epoch_ms, epoch_us, is_within
from aerolog.transport.config.times import datetime_ns, parse_time_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NAIVE = datetime(2026, 11, 20, 10)  # noqa: DTZ001 - what it means is the question
NOON_NS = 1_795_168_800_000_000_000
JOB = """
name = "orders"
archive-dir = "archive"

[recordings]
since = {since}

[output]
to = "out"
"""


@pytest.fixture(autouse=True, params=["Asia/Tokyo", "America/New_York", "UTC"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's zone."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("given", [NAIVE, NAIVE.replace(tzinfo=UTC)])
def test_a_datetime_without_a_zone_is_utc_everywhere(given: datetime) -> None:
    assert datetime_ns(given) == epoch_ns(given) == NOON_NS
    assert epoch_us(given) == NOON_NS // 1000
    assert epoch_ms(given) == NOON_NS // 10**6
    assert TimeRange.of(given, None).since_us == NOON_NS // 1000
    assert parse_search({"since": given}).since_ms == NOON_NS // 10**6


def test_a_date_is_its_first_moment_in_utc() -> None:
    assert parse_search({"until": date(2026, 11, 20)}).until_ms == (NOON_NS - 36 * 10**12) // 10**6


@pytest.mark.parametrize(
    "text", ["2026-11-20T10:00:00", "2026-11-20 10:00:00", "2026-11-20", "2026-11-20T10:00:00Z"]
)
def test_a_time_in_a_job_file_is_what_the_same_text_is(text: str, tmp_path: Path) -> None:
    wanted = parse_time_ns("since", text) // 10**6
    for written in (text, f'"{text}"'):
        path = tmp_path / "job.toml"
        path.write_text(JOB.format(since=written))
        assert tomllib.loads(path.read_text())["recordings"]["since"]
        assert parse_search(load_job(path).conditions).since_ms == wanted


@pytest.mark.parametrize(
    "function",
    [
        epoch_ns, epoch_us, epoch_ms, is_within, TimeRange.of, TimeIndex.position_at,
        TimeIndex.end_position_at, AeronArchive.find_position, AeronArchive.find_end_position,
        AsyncAeronArchive.find_position, AsyncAeronArchive.find_end_position,
        TimedReplay.__init__, MergedReplay.__init__, ChannelReplay.__init__,
        ArchiveDataset.__init__, record_batches, parse_search, datetime_ns,
    ],
)  # fmt: skip
def test_each_public_function_that_takes_datetimes_says_so(function: Callable[..., Any]) -> None:
    said = " ".join((function.__doc__ or "").split())
    assert "without a zone is UTC" in said
