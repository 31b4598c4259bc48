"""Storage requests in any order: what the catalog says of a recording is always there."""

from __future__ import annotations

import random

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.format.archive_folder import ArchiveFolder

SEGMENT = 64 * 1024
FRAME = 1024
PER_SEGMENT = SEGMENT // FRAME


def message_at(position: int) -> bytes:
    """What is recorded at a position, whichever recording it belongs to."""
    return position.to_bytes(8, "little") * ((FRAME - 32) // 8)


class Story:
    """Requests by chance, on a few recordings that can be joined."""

    def __init__(self, rig, seed: int) -> None:
        self.rig = rig
        self.random = random.Random(seed)
        self.ids: list[int] = []
        self.carried_out: dict[str, int] = {}

    def record(self) -> None:
        """A recording that begins where a segment of others may end."""
        position = self.random.randrange(6) * SEGMENT
        count = self.random.choice((PER_SEGMENT, 2 * PER_SEGMENT, self.random.randrange(1, 200)))
        self.ids.append(
            self.rig.recorded(count, stream_id=1, position=position, message_at=message_at)
        )

    def position(self, recording_id: int) -> int:
        """Some position, often a good one."""
        start = self.rig.start_position(recording_id)
        stop = self.rig.stop_position(recording_id)
        return self.random.choice(
            (
                start,
                stop,
                self.random.randrange(start, stop + 1) // FRAME * FRAME,
                self.random.randrange(start, stop + 1) // SEGMENT * SEGMENT,
                self.random.randrange(start, stop + 1) // 32 * 32,
                self.random.randrange(-SEGMENT, stop + SEGMENT),
            )
        )

    def step(self) -> None:
        """One request."""
        recording_id = self.random.choice(self.ids)
        kind = self.random.choice(
            (
                ap.TruncateRecordingRequest,
                ap.DetachSegmentsRequest,
                ap.DetachSegmentsRequest,
                ap.PurgeSegmentsRequest,
                ap.AttachSegmentsRequest,
                ap.DeleteDetachedSegmentsRequest,
                ap.MigrateSegmentsRequest,
                ap.MigrateSegmentsRequest,
                ap.PurgeRecordingRequest,
                ap.UpdateChannelRequest,
            )
        )
        values: dict[str, object] = {"recording_id": recording_id}
        if kind is ap.TruncateRecordingRequest:
            values["position"] = self.position(recording_id)
        elif kind in (ap.DetachSegmentsRequest, ap.PurgeSegmentsRequest):
            values["new_start_position"] = self.position(recording_id)
        elif kind is ap.MigrateSegmentsRequest:
            values = {
                "src_recording_id": recording_id,
                "dst_recording_id": self.random.choice(self.ids),
            }
        elif kind is ap.UpdateChannelRequest:
            values["channel"] = "aeron:ipc?alias=" + "x" * self.random.randrange(300)
        answer = self.rig.answer_to(self.rig.post(kind, **values))
        if answer.code == ap.ControlResponseCode.OK:
            self.carried_out[kind.__name__] = self.carried_out.get(kind.__name__, 0) + 1
            if kind is ap.PurgeRecordingRequest:
                self.ids.remove(recording_id)
                self.record()
        if self.random.random() < 0.7:
            deletions = self.rig.archive._conductor.deletions
            self.rig.wait(lambda: not deletions.is_busy, "files to go")

    def check(self) -> None:
        """Every recording has all that the catalog says it has."""
        with ArchiveFolder("/archive", files=self.rig.disk) as folder:
            assert folder.catalog.ids() == sorted(self.ids)
            for recording_id in self.ids:
                recording = folder.recording(recording_id)
                at = recording.start_position
                for message in recording.messages():
                    assert bytes(message.payload) == message_at(at), (recording_id, at)
                    at += FRAME
                assert at == folder.catalog.descriptor(recording_id).stop_position


@pytest.mark.parametrize("seed", range(5))
def test_recordings_are_whole_after_any_requests(make_rig, seed: int) -> None:
    story = Story(make_rig(), seed)
    for _ in range(5):
        story.record()
    for _ in range(60):
        story.step()
        story.check()
    assert len(story.carried_out) >= 6, story.carried_out
    before = {name for name in story.rig.disk.segments() if not owner_is(name, story.ids)}
    story.rig.wait(lambda: not story.rig.archive._conductor.deletions.is_busy, "files to go")
    assert {name for name in story.rig.disk.segments() if not owner_is(name, story.ids)} <= before


def owner_is(name: str, ids: list[int]) -> bool:
    return int(name.partition("-")[0]) in ids
