"""What happens: recorded far from the publisher, replayed back to it, both over the lossy wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.lossy.stream import Digest
from examples.recorded_stream import STALL_TIMEOUT_S, publish_and_record

from aerolog.archive.client import AeronArchive, SourceLocation
from aerolog.archive.format.archive_folder import ArchiveFolder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aerolog.transport.client import Aeron

STREAM_ID = 77


def record(aeron: Aeron, archive: AeronArchive, channel: str, messages: Sequence[bytes]) -> int:
    """Publish from here, recorded there; the recording id."""
    return publish_and_record(aeron, archive, channel, STREAM_ID, messages, SourceLocation.REMOTE)


def replayed(archive: AeronArchive, recording_id: int) -> Digest:
    """The recording as it comes back to us."""
    return Digest.of(m.data for m in archive.read(recording_id, timeout=STALL_TIMEOUT_S))


def on_disk(archive_dir: Path, recording_id: int) -> Digest:
    """The recording as it stands in the archive's folder, with no archive involved."""
    with ArchiveFolder(archive_dir) as folder:
        return Digest.of(m.payload for m in folder.recording(recording_id).messages())
