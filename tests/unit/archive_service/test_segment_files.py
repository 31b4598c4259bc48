"""How segment files get their length: what is not there is not cut off."""

from __future__ import annotations

from collections import defaultdict

import pytest

from aerolog.archive import protocol as ap
from aerolog.testing.filesystem import FakeFile

SEGMENT = 65536
MESSAGE = 1000
FRAME = 1056
CHANNEL = "aeron:ipc?term-length=64k"


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """Lengths that each file has been set to, in order."""
    seen: dict[str, list[int]] = defaultdict(list)
    truncate = FakeFile.truncate

    def noted(file: FakeFile, length: int) -> int:
        seen[file.path.rpartition("/")[2]].append(length)
        return truncate(file, length)

    monkeypatch.setattr(FakeFile, "truncate", noted)
    return seen


@pytest.fixture
def cleared(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """Offsets from which on each file has been cleared, in order."""
    seen: dict[str, list[int]] = defaultdict(list)
    clear_behind = FakeFile.clear_behind

    def noted(file: FakeFile, offset: int) -> int:
        seen[file.path.rpartition("/")[2]].append(offset)
        return clear_behind(file, offset)

    monkeypatch.setattr(FakeFile, "clear_behind", noted)
    return seen


def fill(rig, publication, count: int) -> None:
    for _ in range(count):
        rig.wait(lambda: publication.offer(bytes(MESSAGE)) > 0, "room for a message")
    rig.wait(
        lambda: rig.archive._conductor.recordings.position(0) == publication.position,
        "the messages to be recorded",
    )


def test_a_new_segment_file_only_grows(rig, lengths) -> None:
    # ext4 writes a file that was cut to nothing out as a whole when it is closed.
    rig.start(1)
    publication = rig.publish(1)
    fill(rig, publication, 2 * SEGMENT // FRAME + 10)
    assert {name: lengths[name] for name in lengths if name.endswith(".rec")} == {
        "0-0.rec": [SEGMENT],
        f"0-{SEGMENT}.rec": [SEGMENT],
        f"0-{2 * SEGMENT}.rec": [SEGMENT],
    }


def extended(rig, stop: int) -> None:
    """Extend recording 0 by a publication that starts where it stopped."""
    initial = rig.archive._catalog.descriptor(0).initial_term_id
    channel = (
        f"{CHANNEL}|init-term-id={initial}|term-id={initial + stop // SEGMENT}"
        f"|term-offset={stop % SEGMENT}"
    )
    rig.ask(
        ap.ExtendRecordingRequest,
        recording_id=0,
        stream_id=1,
        source_location=ap.SourceLocation.LOCAL,
        channel=channel,
    )
    publication = rig.aeron.add_exclusive_publication(channel, 1)
    rig.wait(lambda: 0 in rig.archive._conductor.recordings.sessions, "the recording")
    fill(rig, publication, 1)


def test_an_extended_one_loses_what_stands_behind_the_stop(rig, lengths, cleared) -> None:
    rig.start(1)
    publication = rig.publish(1)
    fill(rig, publication, 3)
    stop = publication.position
    publication.close()
    rig.wait(lambda: 0 not in rig.archive._conductor.recordings.sessions, "the stop")
    rig.ask(ap.StopRecordingRequest, stream_id=1, channel=CHANNEL)
    lengths.clear()
    cleared.clear()
    extended(rig, stop)
    assert dict(cleared) == {"0-0.rec": [stop]}
    assert all(length == SEGMENT for length in lengths["0-0.rec"])
