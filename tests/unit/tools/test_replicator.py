"""Replications followed to their end, whatever that is."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from aerolog.archive.client import RecordingSignal as Signal
from aerolog.tools.recordings.replicator import Replicator
from aerolog.tools.recordings.source_position import SourceEnd, response_channel_for
from aerolog.transport.errors import AeronTimeoutError, ArchiveError

from .fake_archive import FakeArchive, signal

ID = 12
REPLICATE = signal(Signal.REPLICATE, ID, position=0)
EXTEND = signal(Signal.EXTEND, ID, position=0)
SYNC = signal(Signal.SYNC, ID, position=4096)
MERGE = signal(Signal.MERGE, ID, position=4096)
END = signal(Signal.REPLICATE_END, ID)
STOP = signal(Signal.STOP, ID, position=4096)


class Progress:
    def __init__(self) -> None:
        self.updates: list[tuple[int, int | None]] = []

    def __call__(self, completed: int, total: int | None) -> None:
        self.updates.append((completed, total))


def replicator(*batches: list[Any], **fields: Any) -> tuple[Replicator, Any, list[Any]]:
    archive: Any = FakeArchive(script=deque(batches), **fields)
    seen: list[Any] = []
    return Replicator(archive, ID, on_signal=seen.append), archive, seen


def test_a_completed_replication_ends_with_the_stop_of_its_recording() -> None:
    following, _, seen = replicator([REPLICATE], [EXTEND], [SYNC, END], [STOP], stops={3: 4096})
    progress = Progress()

    done = following.run(progress, None)

    assert done.row() == {
        "replication_id": ID, "recording_id": 3, "start_position": 0, "position": 4096,
        "synced": True, "merged": False,
    }  # fmt: skip
    assert [one.signal for one in seen] == [
        Signal.REPLICATE, Signal.EXTEND, Signal.SYNC, Signal.REPLICATE_END, Signal.STOP,
    ]  # fmt: skip
    assert progress.updates[-1] == (4096, None)


def test_a_recording_in_sync_ends_at_once() -> None:
    following, _, _ = replicator([SYNC, END], stops={3: 4096})

    assert following.run(Progress(), None).position == 4096


def test_a_merged_replication_ends_while_its_recording_goes_on() -> None:
    following, _, _ = replicator([REPLICATE, EXTEND], [MERGE, END], positions={3: 5000})

    done = following.run(Progress(), None)

    assert (done.merged, done.synced, done.position) == (True, False, 5000)


def test_progress_counts_from_where_the_replication_began() -> None:
    class Source:
        def poll(self) -> int:
            return 8192

    extend = signal(Signal.EXTEND, ID, position=1024)
    following, _, _ = replicator([extend], [], [END, STOP], positions={3: 2048}, stops={3: 4096})
    progress = Progress()

    following.run(progress, Source())

    assert progress.updates[0] == (1024, 7168)
    assert progress.updates[-1] == (3072, 7168)


def test_an_error_of_the_archive_ends_it() -> None:
    error = ArchiveError(5, "unknown src recording id 7", ID)
    following, _, _ = replicator([error, signal(Signal.REPLICATE_END, ID, recording_id=-1)])

    with pytest.raises(ArchiveError, match="unknown src recording id 7"):
        following.run(Progress(), None)
    assert following.state.recording_id is None


def test_signals_of_others_are_passed_over() -> None:
    other = signal(Signal.REPLICATE_END, ID + 1)
    following, _, seen = replicator([other], [END], stops={3: 0})

    following.run(Progress(), None)

    assert [one.correlation_id for one in seen] == [ID]


def test_stopping_waits_for_the_end_and_the_stop() -> None:
    following, archive, _ = replicator([REPLICATE, EXTEND], [], [END], [STOP], stops={3: 4096})

    stopped = following.stop()

    assert archive.calls == [("try_stop_replication", ID)]
    assert (stopped.ended, stopped.stopped, stopped.position) == (True, True, 4096)


def test_a_replication_that_does_not_end_is_named() -> None:
    following, _, _ = replicator([EXTEND])

    with pytest.raises(AeronTimeoutError, match=f"stop-replication {ID} tries again"):
        following.stop()


def test_a_recording_that_goes_on_after_its_replication_is_named() -> None:
    following, _, _ = replicator([REPLICATE, EXTEND], [END])

    with pytest.raises(AeronTimeoutError, match="is over, and recording 3 has not stopped"):
        following.run(Progress(), None)


def test_a_stop_position_is_where_it_will_end() -> None:
    class Asked:
        def poll(self) -> int:
            return 4096

    archive: Any = Asked()

    assert SourceEnd(archive, 1024).poll() == 1024
    assert SourceEnd(archive, None).poll() == 4096


@pytest.mark.parametrize(
    ("channel", "response"),
    [
        ("aeron:ipc", "aeron:ipc"),
        ("aeron:udp?endpoint=127.0.0.1:8010", "aeron:udp?endpoint=127.0.0.1:0"),
        ("aeron:udp?endpoint=[::1]:8010", "aeron:udp?endpoint=[::1]:0"),
        ("aeron:udp?endpoint=no-such-host.invalid:8010", None),
        ("aeron:udp?control=127.0.0.1:8010|control-mode=response", None),
        ("aeron:udp?endpoint=127.0.0.1:x", None),
    ],
)
def test_a_source_answers_where_it_is_reached_from(channel: str, response: str | None) -> None:
    assert response_channel_for(channel) == response
