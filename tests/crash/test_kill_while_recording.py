"""``kill -9`` while recording: after a restart the stop position is right and nothing is lost."""

from __future__ import annotations

import random

import pytest

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.transport.client import CountersReader

pytestmark = [pytest.mark.error_log(""), pytest.mark.processes_end]


CHANNEL = "aeron:ipc?term-length=64k"
STREAM = 1001
RECORDING_POSITION = ArchiveCounterType.RECORDING_POSITION


def counter_of(aeron_dir: str, recording_id: int) -> int | None:
    """What the position counter of a recording says, None when there is none."""
    for counter in CountersReader(aeron_dir).infos():
        if counter.type_id == RECORDING_POSITION and (
            int.from_bytes(counter.key[:8], "little") == recording_id
        ):
            return counter.value
    return None


def record_until_killed(
    crashing, streams, recording_id: int, seed: int, stream_id: int = STREAM
) -> tuple[list[int], int]:
    """Record a seeded stream, kill the archive somewhere in it.

    Returns:
        Positions behind the published messages, and the last recorded position that was seen.
    """
    moment = random.Random(seed)
    with crashing.aeron.add_exclusive_publication(CHANNEL, stream_id) as publication:
        streams.wait(lambda: publication.is_connected, "the archive to subscribe")
        publisher = streams.publish(publication, seed)
        target = moment.randrange(1, 600_000)
        seen = streams.wait(
            lambda: (
                (value := counter_of(crashing.driver.aeron_dir, recording_id))
                and value >= target
                and value
            ),
            f"the recording to reach {target}",
        )
        crashing.kill()
        publisher.stop()
        return publisher.positions, seen


@pytest.mark.parametrize(
    "crashing",
    [
        {"aeron.archive.threading.mode": "DEDICATED"},
        {"aeron.archive.threading.mode": "SHARED", "aeron.archive.record.checksum": "CRC-32C"},
        {"aeron.archive.threading.mode": "DEDICATED", "aeron.archive.file.sync.level": "1"},
    ],
    indirect=True,
    ids=["dedicated", "shared-crc", "dedicated-synced"],
)
def test_every_complete_message_survives_a_kill(crashing, streams) -> None:
    expected: dict[int, tuple[int, list[int], int]] = {}
    for round_number in range(4):
        seed = 100 + round_number
        with crashing.connect() as archive:
            # A stream of its own: the killed archive's subscription still holds the last one up.
            archive.start_recording(CHANNEL, seed)
        recording_id = max(expected, default=-1) + 1
        positions, seen = record_until_killed(crashing, streams, recording_id, seed, seed)
        crashing.restart()
        with crashing.connect() as archive:
            stop = archive.stop_position(recording_id)
        assert stop is not None
        assert seen <= stop <= positions[-1] + 8192
        expected[recording_id] = (stop, positions, seed)
        # Earlier recordings are as they were.
        for earlier, (earlier_stop, earlier_positions, earlier_seed) in expected.items():
            check_messages(
                crashing, streams, earlier, earlier_stop, earlier_positions, earlier_seed
            )


def check_messages(
    crashing, streams, recording_id: int, stop: int, positions: list[int], seed: int
) -> None:
    """The recording holds exactly the published messages that end at or before its stop."""
    with ArchiveFolder(crashing.archive_dir) as folder:
        recording = folder.recording(recording_id)
        assert recording.entry.descriptor.stop_position == stop
        messages = list(recording.messages())
    whole = [position for position in positions if position <= stop]
    assert [m.position for m in messages[: len(whole)]] == whole
    assert len(messages) - len(whole) in {0, 1}  # the one whose offer had not returned yet
    for index, message in enumerate(messages):
        assert message.payload == streams.message(seed, index), index


def test_what_survived_is_replayed_and_extended(crashing, streams) -> None:
    with crashing.connect() as archive:
        archive.start_recording(CHANNEL, STREAM)
    positions, _ = record_until_killed(crashing, streams, 0, 7)
    crashing.restart()
    with crashing.connect() as archive:
        stop = archive.stop_position(0)
        assert stop is not None
        with archive.replay(0, channel="aeron:ipc", stream_id=STREAM + 1) as subscription:
            payloads: list[bytes] = []
            count = sum(position <= stop for position in positions)
            streams.wait(
                lambda: (
                    payloads.extend(m.data for m in subscription.poll_messages(100))
                    or len(payloads) >= count
                ),
                f"{count} replayed messages",
            )
        assert payloads[:count] == [streams.message(7, index) for index in range(count)]
        descriptor = archive.list_recording(0)
        assert descriptor is not None
        term_id = descriptor.initial_term_id + stop // 65536
        term_id = (term_id + 2**31) % 2**32 - 2**31
        # A session of its own: the first stream still holds what the archive had not read.
        channel = (
            f"{CHANNEL}|init-term-id={descriptor.initial_term_id}|term-id={term_id}"
            f"|term-offset={stop % 65536}|session-id=4711"
        )
        archive.extend_recording(0, channel, STREAM)
        with crashing.aeron.add_exclusive_publication(channel, STREAM) as publication:
            streams.wait(lambda: publication.is_connected, "the archive to subscribe")
            end = publication.send(b"after the crash")
            streams.wait(lambda: archive.recording_position(0) == end, "the extension")
            archive.stop_recording(channel, STREAM)
        streams.wait(lambda: archive.stop_position(0) == end, "the stop")
    with ArchiveFolder(crashing.archive_dir) as folder:
        *_, last = folder.recording(0).messages()
    assert last.payload == b"after the crash"
