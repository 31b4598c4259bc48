"""What ``aerolog verify`` does: recordings to verify, what was found of each, and repairs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from aerolog.archive.format.checksum import checksum_for
from aerolog.archive.format.mark_file import running_archive
from aerolog.archive.verification.closed_spans import closed_spans
from aerolog.archive.verification.findings import Finding, Kind, remedy_of
from aerolog.archive.verification.recording_verification import verify_opened
from aerolog.archive.verification.repair_plan import (
    BY_REQUEST,
    RepairPlan,
    RepairWay,
    StepKind,
    plan_repair,
    with_end,
)
from aerolog.archive.verification.repairs import FolderRepairs, RepairRefusedError, RequestedRepairs
from aerolog.tools.connection.archive_folder import (
    archive_or_folder,
    check_folder,
    readable_recordings,
)
from aerolog.tools.terminal.console import progress
from aerolog.transport.errors import ArchiveError
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from aerolog.archive.format.archive_folder import Recording
    from aerolog.archive.verification.repair_plan import RepairStep
    from aerolog.archive.verification.repairs import Repairs
    from aerolog.tools.command_line.options import ArchiveOptions


@dataclass(slots=True)
class Verified:
    """What a verification has come to.

    Attributes:
        recording_id: the recording, -1 for what belongs to none.
        segments: closed ones, which were read.
        size: recorded bytes in them.
        findings: what is wrong.
        plan: what can be saved; None where nothing is wrong.
    """

    recording_id: int
    segments: int = 0
    size: int = 0
    findings: list[Finding] = field(default_factory=list)
    plan: RepairPlan | None = None

    @property
    def is_sound(self) -> bool:
        """Whether all of what is recorded was read, and nothing is wrong with it."""
        return not self.is_damaged and not any(f.kind == Kind.UNREADABLE for f in self.findings)

    @property
    def is_damaged(self) -> bool:
        """Whether something is wrong with what is recorded."""
        return any(finding.is_damage for finding in self.findings)

    def row(self) -> dict[str, Any]:
        """The result as JSON."""
        row: dict[str, Any] = {
            "recording_id": self.recording_id,
            "sound": self.is_sound,
            "segments": self.segments,
            "bytes": self.size,
            "findings": [
                {
                    "position": one.position,
                    "kind": str(one.kind),
                    "text": one.text,
                    "remedy": one.remedy,
                }
                for one in self.findings
            ],
        }
        if self.plan is not None:
            row["readable"] = [list(part) for part in self.plan.readable]
            row["choices"] = list(self.plan.choices)
            row["steps"] = [step.row() for step in self.plan.steps]
        return row


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class VerifyChoice:
    """What is verified, and how.

    Attributes:
        archive_dir: the archive's folder.
        recording_ids: empty for all.
        checksum: name of the one that all frames have, None to find out.
        note: keep what is found.
        quiet: show no progress.
        way: what a repair makes of damage.
        with_end: whether a plan gives recordings without a stop position their ends.
    """

    archive_dir: str
    recording_ids: Sequence[int] = ()
    checksum: str | None = None
    note: bool = False
    quiet: bool = False
    way: RepairWay = RepairWay.PAD
    with_end: bool = False


def verify(choice: VerifyChoice) -> list[Verified]:
    """Verify the recordings of a folder; what cannot be read of its catalog comes last.

    Raises:
        AerologError: there is no such folder, recording or extra.
    """
    check_folder(choice.archive_dir)
    recordings, damages = _recordings(choice)
    names = RealFileSystem().list_dir(choice.archive_dir)
    found = [_verified(recording, choice, names) for recording in recordings]
    return found + [Verified(finding.recording_id, findings=[finding]) for finding in damages]


def _recordings(choice: VerifyChoice) -> tuple[list[Recording], list[Finding]]:
    """The recordings that are wanted, and what cannot be read of the catalog."""
    recordings, damages = _all_recordings(choice.archive_dir)
    wanted = set(choice.recording_ids)
    if not wanted:
        return recordings, damages
    damages = [finding for finding in damages if finding.recording_id in {-1, *wanted}]
    missing = wanted - {r.recording_id for r in recordings} - {f.recording_id for f in damages}
    if missing and not any(finding.recording_id == -1 for finding in damages):
        raise ArchiveError(5, f"unknown recording id: {min(missing)}")
    return [r for r in recordings if r.recording_id in wanted], damages


def _all_recordings(archive_dir: str) -> tuple[list[Recording], list[Finding]]:
    damages: list[Finding] = []
    recordings = readable_recordings(
        archive_dir, lambda recording_id, error: damages.append(_of_catalog(recording_id, error))
    )
    return list(recordings), damages


def _of_catalog(recording_id: int, error: Exception) -> Finding:
    what = "the catalog is damaged" if recording_id < 0 else f"recording {recording_id}"
    text, kind = str(error), Kind.CATALOG
    if isinstance(error, OSError):
        text, kind = f"{error.filename}: {error.strerror}", Kind.UNREADABLE
    return Finding(recording_id, -1, kind, f"{what}: {text}", remedy_of(kind, recording_id))


def _verified(recording: Recording, choice: VerifyChoice, names: list[str]) -> Verified:
    spans = list(closed_spans(recording.descriptor, recording.end_position))
    size = sum(span.length - span.start for span in spans)
    label = f"recording {recording.recording_id}"
    with progress(label, size, bytes_=True, quiet=choice.quiet) as bar:
        findings = verify_opened(
            recording,
            checksum=checksum_for(choice.checksum),
            note=choice.note,
            progress=bar.update,
        )
    found = Verified(recording.recording_id, len(spans), size, findings)
    if not found.is_sound:
        found.plan = plan_repair(
            recording,
            findings,
            names,
            way=choice.way,
            checksum=checksum_for(choice.checksum),
        )
    if choice.with_end and recording.descriptor.is_active:
        found.plan = with_end(found.plan, recording)
    return found


def steps_of(found: Sequence[Verified]) -> list[RepairStep]:
    """All that a repair would do."""
    return [step for one in found if one.plan is not None for step in one.plan.steps]


def repairs_of(archive_dir: str, options: ArchiveOptions) -> AbstractContextManager[Repairs]:
    """Where steps are done: the archive that runs in a folder, or the folder itself."""
    return archive_or_folder(archive_dir, options, RequestedRepairs, FolderRepairs.borrow)


def check_possible(archive_dir: str, steps: Sequence[RepairStep]) -> None:
    """Whether an archive that runs, if one does, can do a step of the plan.

    Raises:
        RepairRefusedError: it can do none.
    """
    if not steps or any(step.kind in BY_REQUEST for step in steps):
        return
    if running_archive(archive_dir) is not None:
        raise RepairRefusedError(
            f"{archive_dir}: an archive runs there, and has no request for any of this: stop it"
            " first, then repair"
        )


def left_after(recording_ids: Sequence[int], done: Sequence[RepairStep]) -> tuple[int, ...]:
    """Those of some recordings that are still VALID behind a repair."""
    gone = {step.recording_id for step in done if step.kind in {StepKind.INVALIDATE, StepKind.COPY}}
    return tuple(one for one in recording_ids if one not in gone)


def without_plans(found: Sequence[Verified]) -> list[Verified]:
    """The same, with nothing about repairs."""
    return [replace(one, plan=None) for one in found]
