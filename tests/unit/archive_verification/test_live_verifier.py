"""An archive with threads that verifies, and repairs by its own requests."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from live_archive import CHANNEL, STREAM_ID, archiving, until
from shared_memory import memory_folder

from aerolog.archive.client import AeronArchive
from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.archive.verification import Health
from aerolog.tools.main import main
from aerolog.transport.client import Aeron
from aerolog.transport.errors import ArchiveError

if TYPE_CHECKING:
    from pathlib import Path

FRAME = 1056
VERIFYING = (
    "aerolog.archive.verify.rate=1g",
    "aerolog.archive.verify.look.interval=10ms",
)


def record(aeron: Aeron, archive: AeronArchive, count: int) -> int:
    """A stopped recording of a thousand bytes a message; its id."""
    with aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
        archive.start_recording(CHANNEL, STREAM_ID)
        publication.wait_connected(30.0, writable=True)
        for number in range(count):
            payload = bytes([number % 251 + 1]) * 1000
            until(partial(lambda data: publication.offer(data) > 0, payload))
        until(lambda: archive.recordings(stream_id=STREAM_ID))
        (one,) = archive.recordings(stream_id=STREAM_ID)
        position = publication.position
        until(lambda: archive.max_recorded_position(one.recording_id) == position)
        archive.stop_recording(CHANNEL, STREAM_ID)
        until(lambda: archive.stop_position(one.recording_id) == position)
    recording_id: int = one.recording_id
    return recording_id


@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED"])
def test_a_running_archive_notices_damage_and_repairs_by_request(tmp_path: Path, mode, capfd):
    folder = tmp_path / "archive"
    settings = (*VERIFYING, f"aeron.archive.threading.mode={mode}")
    with (
        memory_folder() as home,
        archiving(home / "a", folder, *settings) as both,
        Aeron(both.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
    ):
        recording_id = record(aeron, archive, 150)
        until(lambda: Health.open(folder, recording_id).state == "sound")
        with (folder / f"{recording_id}-131072.rec").open("r+b") as file:
            file.seek(3 * FRAME + 32 + 1)
            file.write(b"\0")
        until(lambda: Health.open(folder, recording_id).state == "changed")
        counters = {c.type_id: c for c in aeron.counters.infos()}
        until(
            lambda: aeron.counters[counters[ArchiveCounterType.BAD_SEGMENTS].counter_id].value == 1
        )
        assert main(["verify", "--note", "--archive-dir", str(folder)]) == 1
        assert "keeps such notes itself" in capfd.readouterr().err
        with (folder / f"{recording_id}-131072.rec").open("r+b") as file:
            file.seek(3 * FRAME)
            file.write(bytes(4))
        until(lambda: Health.open(folder, recording_id).state == "damaged")
        assert main(["verify", "--repair", "--yes", "--archive-dir", str(folder)]) == 0
        assert archive.stop_position(recording_id) == 131072 + 3 * FRAME
        until(lambda: Health.open(folder, recording_id).state == "sound")
        with (folder / f"{recording_id}-65536.rec").open("r+b") as file:
            file.write(bytes(4))
        assert main(["verify", "--repair", "--yes", "--archive-dir", str(folder)]) == 1
        assert "has no request for any of this" in capfd.readouterr().err


def test_a_client_is_told_of_damage_and_its_replay_ends(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    with (
        memory_folder() as home,
        archiving(home / "a", folder) as both,
        Aeron(both.aeron_dir) as aeron,
        AeronArchive(aeron) as archive,
    ):
        recording_id = record(aeron, archive, 100)
        with (folder / f"{recording_id}-65536.rec").open("r+b") as file:
            file.seek(4 * FRAME + 8)
            file.write(b"\x40")
        received: list[bytes] = []
        errors: list[str] = []
        with aeron.add_subscription("aeron:ipc", 90) as subscription:
            archive.start_replay(recording_id, "aeron:ipc", 90)

            def is_over() -> bool:
                received.extend(one.data for one in subscription.poll_messages(100))
                try:
                    archive.check_for_error()
                except ArchiveError as error:
                    errors.append(str(error))
                return bool(errors)

            until(is_over)
            until(lambda: not subscription.images)
        assert received == [bytes([n % 251 + 1]) * 1000 for n in range(len(received))]
        assert len(received) <= 66
        assert f"wrong frame header at position={65536 + 4 * FRAME} " in errors[0]
