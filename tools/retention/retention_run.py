"""What the commands of retention share: the folder, its archive, the catalog, how plans look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.format.mark_file import running_archive
from aerolog.archive.retention.archive_access import RunningArchive, StoppedArchive
from aerolog.archive.retention.clock import read_clock
from aerolog.archive.retention.plan import RECORDING
from aerolog.archive.retention.run import Retention
from aerolog.tools.connection.archive_folder import archive_or_folder, check_folder, reached_by
from aerolog.tools.connection.clients import open_archive
from aerolog.tools.retention.needs_lookup import lookup_of
from aerolog.transport.memory.filesystem import RealFileSystem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from aerolog.archive.retention.archive_access import ArchiveAccess
    from aerolog.archive.retention.facts import Need
    from aerolog.archive.retention.plan import Plan
    from aerolog.archive.retention.policies import Policies
    from aerolog.tools.command_line.options import ArchiveOptions
    from aerolog.tools.retention.options import RunOptions

STEP_COLUMNS: Final = ("recording", "what", "files", "bytes", "new_start", "policy", "reason")
STEP_RIGHT: Final = ("recording", "files", "bytes", "new_start")
KEPT_COLUMNS: Final = ("recording", "kept_from", "why", "reason")
KEPT_RIGHT: Final = ("recording", "kept_from")


def retention_of(archive_dir: str, policies: Policies, options: RunOptions) -> Retention:
    """Retention of a folder, as options say.

    Raises:
        AerologError: there is no such folder.
    """
    check_folder(archive_dir)
    return Retention(
        archive_dir=archive_dir,
        policies=policies,
        files=RealFileSystem(),
        read_clock=read_clock,
        known=lookup_of(archive_dir, options, by_label=policies.asks_for_labels),
        accept_clock=options.accept_clock,
    )


def archive_access(
    archive_dir: str, options: ArchiveOptions
) -> AbstractContextManager[ArchiveAccess]:
    """Where steps are done: the archive that runs in a folder, or the folder itself."""
    return archive_or_folder(archive_dir, options, RunningArchive, StoppedArchive.borrow)


def archive_needs(archive_dir: str, options: ArchiveOptions) -> list[Need]:
    """What the archive that runs in a folder still reads or makes, nothing when none runs.

    Raises:
        AerologError: the archive does not answer.
    """
    mark = running_archive(archive_dir)
    if mark is None:
        return []
    with open_archive(reached_by(mark, options)) as client:
        return RunningArchive(client).needs()


# -- how plans look -------------------------------------------------------------------------------


def amount(count: int, name: str) -> str:
    """A number of things in words."""
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def plan_summary(plan: Plan) -> str:
    """A plan in a line."""
    if plan.held_back is not None:
        return f"nothing goes: {plan.held_back}; when the clock is right: --accept-clock"
    if not plan.steps:
        return "nothing goes"
    return (
        f"{amount(plan.files, 'segment file')} of {amount(len(plan.steps), 'recording')} would go,"
        f" {plan.bytes} bytes"
    )


def plan_lines(plan: Plan) -> Iterator[str]:
    """A plan as it is asked about."""
    for warning in plan.warnings:
        yield f"warning: {warning}"
    for step in plan.steps:
        what = (
            "all of it"
            if step.kind == RECORDING
            else f"what is before position {step.new_start_position}"
        )
        files = amount(step.files, "segment file")
        yield f"recording {step.recording_id}: {what}, {files}, {step.bytes} bytes: {step.reason}"
    for one in plan.kept:
        yield f"recording {one.recording_id} is kept from {one.position} on: {one.reason}"
    if plan.takes_everything:
        yield "warning: this lets go of every recording of the archive"
    yield plan_summary(plan)


def step_rows(plan: Plan) -> Iterator[Sequence[Any]]:
    """A row for each step."""
    for step in plan.steps:
        whole = step.kind == RECORDING
        yield (
            step.recording_id,
            "whole" if whole else "segments",
            step.files,
            step.bytes,
            "" if whole else step.new_start_position,
            step.policy,
            step.reason,
        )


def kept_rows(plan: Plan) -> Iterator[Sequence[Any]]:
    """A row for each recording that is kept back."""
    for one in plan.kept:
        yield (one.recording_id, one.position, one.kind, one.reason)


def show_plan(plan: Plan) -> None:
    """Prints a plan for people, what is wrong with it on standard error."""
    from aerolog.tools.terminal.console import print_table, remark, say

    for warning in plan.warnings:
        remark(f"warning: {warning}")
    if plan.held_back is not None:
        remark(plan_summary(plan))
        return
    say(plan_summary(plan))
    if plan.steps:
        print_table(STEP_COLUMNS, step_rows(plan), right=STEP_RIGHT)
    if plan.kept:
        say("kept back:")
        print_table(KEPT_COLUMNS, kept_rows(plan), right=KEPT_RIGHT)
    if plan.takes_everything:
        remark("warning: this lets go of every recording of the archive")
