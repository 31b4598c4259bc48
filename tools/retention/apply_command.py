"""``aerolog retention apply``: let go what the policies say, once or again and again."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ArchiveOptions,
    DryRunOption,
    JsonOption,
    YesOption,
    grouped,
    seconds_option,
)
from aerolog.tools.retention.options import (
    DEFAULT_FOLDER,
    FolderOption,
    PolicyOptions,
    RunOptions,
    policies_of,
)
from aerolog.tools.retention.retention_group import app

if TYPE_CHECKING:
    from aerolog.archive.retention.facts import Need
    from aerolog.archive.retention.plan import Plan
    from aerolog.archive.retention.run import Retention
    from aerolog.archive.retention.steps import Applied


@command(
    app,
    examples=(
        "retention apply --policies retention.toml --dry-run",
        "retention apply --policies retention.toml --yes --every 1m",
        "retention apply --stream 1001 --max-size 10g",
    ),
)
@grouped
def apply(
    *,
    archive_dir: FolderOption = DEFAULT_FOLDER,
    policy: PolicyOptions,
    need: RunOptions,
    every: Annotated[
        float | None,
        seconds_option("--every", "Again and again, so long after each end."),
    ] = None,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    archive: ArchiveOptions,
) -> None:
    """Let go what the policies say, of a running archive or of one that does not run.

    A running archive deletes the files, and refuses what it needs; aerolog.archive.delete.rate
    says how many a second. What is interrupted is gone on with by the next run.
    """
    from aerolog.tools.retention import retention_run as shared
    from aerolog.tools.terminal.confirmation import check_can_ask

    if every is not None:
        if not yes or dry_run:
            raise typer.BadParameter("--every goes with --yes, and not with --dry-run")
        if every <= 0:
            raise typer.BadParameter("--every must be more than 0")
    check_can_ask(yes=yes, dry_run=dry_run)
    policies = policies_of(policy)
    retention = shared.retention_of(archive_dir, policies, need)
    if dry_run:
        _dry_run(retention, shared.archive_needs(archive_dir, archive), as_json=as_json)
        return
    retention.reserve()
    once = _Once(retention, archive_dir, archive, yes=yes, as_json=as_json)
    if every is None:
        once()
    else:
        _again_and_again(once, every)


def _dry_run(retention: "Retention", needs: "list[Need]", *, as_json: bool) -> None:
    from aerolog.tools.retention import retention_run as shared
    from aerolog.tools.terminal import console

    planned = retention.plan(needs)
    if as_json:
        console.print_json({"dry_run": True} | planned.row())
    else:
        shared.show_plan(planned)


class _Once:
    """A run of retention, as the options say."""

    def __init__(
        self,
        retention: "Retention",
        archive_dir: str,
        archive: ArchiveOptions,
        *,
        yes: bool,
        as_json: bool,
    ) -> None:
        self._retention = retention
        self._archive_dir = archive_dir
        self._archive = archive
        self._yes = yes
        self._as_json = as_json

    def __call__(self, *, in_lines: bool = False) -> None:
        """Carries the run out.

        Raises:
            AerologError: it fails, or nothing may go.
            typer.Exit: with 1, the answer was no.
        """
        from aerolog.tools.retention import retention_run as shared
        from aerolog.tools.terminal import console
        from aerolog.tools.terminal.confirmation import decline

        with shared.archive_access(self._archive_dir, self._archive) as access:
            planned, applied = self._retention.run(access, self._agree)
        if applied is None:
            decline()
        if self._as_json:
            row = _row(planned, applied)
            (console.print_json_line if in_lines else console.print_json)(row)
        else:
            _say(planned, applied)

    def _agree(self, planned: "Plan") -> bool:
        """Whether to go on.

        Raises:
            AerologError: nobody is asked, and the plan is one to be asked about.
        """
        from aerolog.tools.retention import retention_run as shared
        from aerolog.tools.terminal.confirmation import is_confirmed
        from aerolog.tools.terminal.console import remark
        from aerolog.transport.errors import AerologError

        if planned.held_back is not None:
            raise AerologError(shared.plan_summary(planned))
        if self._yes:
            for warning in planned.warnings:
                remark(f"warning: {warning}")
            if planned.takes_everything:
                raise AerologError(
                    "the plan lets go of every recording of the archive: run it without --yes and"
                    " look, or say everything = true in a policy when that is meant"
                )
            return True
        if not planned.steps:
            return True
        for line in shared.plan_lines(planned):
            remark(line)
        return is_confirmed()


def _again_and_again(once: _Once, every: float) -> None:
    from aerolog.tools.terminal.console import remark
    from aerolog.transport.errors import AerologError

    while True:
        try:
            once(in_lines=True)
        except (AerologError, OSError) as error:
            remark(f"aerolog: {error}; tried again in {every:g} s")
        time.sleep(every)


def _row(planned: "Plan", applied: "Applied") -> dict[str, Any]:
    row = applied.row()
    row["kept"] = [one.row() for one in planned.kept] + row["kept"]
    return {"now_ms": planned.now_ms, "planned_files": planned.files, **row}


def _say(planned: "Plan", applied: "Applied") -> None:
    from aerolog.tools.retention.retention_run import amount
    from aerolog.tools.terminal.console import remark, say

    for line in applied.settled:
        remark(line)
    recordings = len({step.recording_id for step in applied.done})
    text = f"{amount(applied.files, 'segment file')} of {amount(recordings, 'recording')} went"
    kept = (*planned.kept, *applied.kept)
    say(f"{text}, {applied.bytes} bytes; {len(kept)} kept back")
    for one in kept:
        say(f"  recording {one.recording_id} from {one.position} on: {one.reason}")
