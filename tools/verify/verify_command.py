"""``aerolog verify``: whether what is recorded is sound, and what can be saved where it is not."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import ArchiveOptions, JsonOption, YesOption, grouped
from aerolog.tools.retention.options import DEFAULT_FOLDER, FolderOption, RemovalOptions
from aerolog.transport.errors import AerologError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.archive.verification.repair_plan import RepairStep
    from aerolog.tools.verify.verification import Verified

app = typer.Typer(add_completion=False)

_WAYS = ("pad", "copy", "mark")
_CHECKSUMS = ("CRC-32", "CRC-32C")


def _checksum(name: str | None) -> str | None:
    if name is not None and name not in _CHECKSUMS:
        raise typer.BadParameter(f"--checksum takes {' or '.join(_CHECKSUMS)}, not {name!r}")
    return name


def _way(name: str) -> str:
    if name not in _WAYS:
        raise typer.BadParameter(f"--by takes {', '.join(_WAYS)}, not {name!r}")
    return name


@command(
    app,
    examples=(
        "verify --archive-dir archive",
        "verify 3 --repair-plan",
        "verify 3 --repair",
    ),
)
@grouped
def verify(
    recording_ids: Annotated[
        list[int] | None,
        typer.Argument(metavar="[ID]...", help="Recordings; all by default.", show_default=False),
    ] = None,
    *,
    archive_dir: FolderOption = DEFAULT_FOLDER,
    checksum: Annotated[
        str | None,
        typer.Option(
            "--checksum",
            metavar="NAME",
            help="All frames have this checksum, CRC-32 or CRC-32C; by default it is found out.",
            callback=_checksum,
        ),
    ] = None,
    note: Annotated[
        bool,
        typer.Option("--note", help="Keep the fingerprints, and compare with them from now on."),
    ] = False,
    repair_plan: Annotated[
        bool, typer.Option("--repair-plan", help="Say what can be saved, and change nothing.")
    ] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Do what the plan says.")] = False,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="WAY",
            help="What a repair makes of damage: pad (padding; what was there is kept in files),"
            " copy (a new recording gets what can be read) or mark (it becomes INVALID).",
            callback=_way,
        ),
    ] = "pad",
    yes: YesOption = False,
    as_json: JsonOption = False,
    who: RemovalOptions,
    archive: ArchiveOptions,
) -> None:
    """Read every closed segment, and report damage: 0 when all is sound, 1 otherwise.

    Checks frames, checksums and, where there are fingerprints, every byte. Only --note and --repair
    change anything. A running archive does a repair by its own requests. Without one, a repair also
    gives recordings without a stop position their ends.
    """
    from aerolog.archive.format.mark_file import running_archive
    from aerolog.archive.verification.repair_plan import RepairWay
    from aerolog.tools.terminal.confirmation import check_can_ask
    from aerolog.tools.verify import verification

    if repair and (repair_plan or note):
        raise typer.BadParameter("--repair goes with neither --repair-plan nor --note")
    check_can_ask(yes=yes, dry_run=not repair, what="--repair", preview="or --repair-plan")
    choice = verification.VerifyChoice(
        archive_dir,
        tuple(recording_ids or ()),
        checksum,
        note=note,
        quiet=as_json,
        way=RepairWay(by),
        with_end=(repair or repair_plan) and running_archive(archive_dir) is None,
    )
    if note and running_archive(archive_dir) is not None:
        raise AerologError(
            f"{archive_dir}: an archive runs there, and keeps such notes itself"
            " (aerolog.archive.verify.rate): leave --note away, or stop it first"
        )
    found = verification.verify(choice)
    steps = verification.steps_of(found)
    if not repair:
        shown = found if repair_plan else verification.without_plans(found)
        _show(shown, as_json=as_json, with_plan=repair_plan)
    else:
        done = _repaired(found, archive_dir, steps, archive, who, yes=yes)
        left = verification.left_after(choice.recording_ids, done)
        if done and (left or not choice.recording_ids):
            found = verification.verify(replace(choice, recording_ids=left))
        elif done:
            found = []
        _show(verification.without_plans(found), as_json=as_json, done=done)
    if not all(one.is_sound for one in found):
        raise typer.Exit(EXIT_FAILED)


def _repaired(
    found: "Sequence[Verified]",
    archive_dir: str,
    steps: "Sequence[RepairStep]",
    archive: ArchiveOptions,
    who: RemovalOptions,
    *,
    yes: bool,
) -> "list[RepairStep]":
    """Do the steps that are agreed to; those that were done."""
    from aerolog.archive.verification.repairs import RepairRefusedError
    from aerolog.tools.retention.removal_check import NeededError, RemovalCheck
    from aerolog.tools.terminal.confirmation import confirm
    from aerolog.tools.terminal.console import remark
    from aerolog.tools.verify import verification
    from aerolog.transport.errors import ArchiveError

    verification.check_possible(archive_dir, steps)
    for line in _plan_lines(found):
        remark(line)
    if not steps:
        remark("there is nothing to repair" if all(f.is_sound for f in found) else "nothing helps")
        return []
    if not yes:
        confirm()
    done = []
    check = RemovalCheck(lambda _recording_id: archive_dir, who)
    with verification.repairs_of(archive_dir, archive) as repairs:
        for step in steps:
            try:
                with check.step(step.removal):
                    repairs.apply(step)
            except (RepairRefusedError, NeededError, ArchiveError) as error:
                remark(f"not done: {error}")
            else:
                done.append(step)
    return done


def _plan_lines(found: "Sequence[Verified]") -> list[str]:
    lines = []
    for one in found:
        if one.plan is None:
            continue
        parts = ", ".join(f"{begin} to {end}" for begin, end in one.plan.readable) or "nothing"
        lines.append(f"recording {one.recording_id}: readable are positions {parts}")
        lines += [f"  choice: {text}" for text in one.plan.choices]
        lines += [f"  repair: {step.text}" for step in one.plan.steps]
        lines += [f"  no repair: {text}" for text in one.plan.unhelped]
    return lines


def _show(
    found: "Sequence[Verified]",
    *,
    as_json: bool,
    with_plan: bool = False,
    done: "Sequence[RepairStep]" = (),
) -> None:
    """What was found, for people or as JSON."""
    from aerolog.tools.terminal import console

    if as_json:
        document = {
            "sound": all(one.is_sound for one in found),
            "recordings": [one.row() for one in found],
            "done": [step.row() for step in done],
        }
        console.print_json(document)
        return
    for step in done:
        console.say(f"done: {step.text}")
    for one in found:
        for finding in one.findings:
            console.say(finding.text)
            if not with_plan:
                console.say(f"  {finding.remedy}")
    if with_plan:
        for line in _plan_lines(found):
            console.say(line)
    console.say(_summary(found))


def _summary(found: "Sequence[Verified]") -> str:
    recordings = [one for one in found if one.recording_id >= 0]
    bad = [one for one in recordings if one.is_damaged]
    unread = [one for one in recordings if not one.is_sound and not one.is_damaged]
    segments, size = (sum(getattr(one, name) for one in found) for name in ("segments", "size"))
    what = f"{len(recordings)} recording(s), {segments} closed segment(s), {size} bytes"
    faults = [f"{len(bad)} recording(s) are not sound"] if bad else []
    faults += [f"{len(unread)} recording(s) cannot be read"] if unread else []
    return f"{what}: {', '.join(faults) or 'all sound'}"
