"""Changes of recordings in a running archive: planned, asked about, done, waited for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aerolog.tools.connection.clients import open_archive
from aerolog.tools.connection.idle import sleeping_idle
from aerolog.tools.recordings.recording_waits import wait_deleted
from aerolog.tools.retention.removal_check import RemovalCheck
from aerolog.tools.terminal.confirmation import ask, check, check_can_ask, show_dry_run
from aerolog.tools.terminal.console import print_json, say
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client import AeronArchive, RecordingDescriptor
    from aerolog.tools.command_line.options import ArchiveOptions, ChangeOptions
    from aerolog.tools.recordings.change_plans import RecordingPlan
    from aerolog.tools.retention.options import RecordingRemovalOptions

T = TypeVar("T")

_CHECK_CHANNEL: Final = "aeron:ipc"
_CHECK_STREAM_ID: Final = 1 << 20


def change(
    options: ArchiveOptions,
    how: ChangeOptions,
    who: RecordingRemovalOptions,
    *,
    plan: Callable[[AeronArchive], RecordingPlan],
    request: Callable[[AeronArchive], int],
    result: Callable[[int], tuple[dict[str, Any], str]],
    goes_on: str = "the archive deletes them now",
    signals: bool = True,
    asks: bool = True,
) -> None:
    """Carries out one change.

    Args:
        options: how to reach the archive.
        how: what the command line says about asking, waiting and printing.
        who: who else may need what is taken away.
        plan: what would change, worked out from what the archive says now.
        request: does it; gives the number of segment files concerned.
        result: what to print about it, as JSON and as text, out of that number.
        goes_on: what the archive still does when nobody has waited for it.
        signals: whether the archive signals DELETE when the files are gone.
        asks: whether it is something to be asked about first.
    """
    if asks:
        check_can_ask(yes=how.yes, dry_run=how.dry_run)
    with open_archive(options) as archive:
        planned = plan(archive)
        needs = RemovalCheck.of_archive(archive, who)
        if planned.removal is not None and planned.refusal is None:
            planned = replace(planned, refusal=needs.refusal(planned.removal))
        if how.dry_run:
            show_dry_run(planned, as_json=how.as_json)
            return
        check(planned)
        if asks:
            ask(planned, yes=how.yes)
        with needs.step(planned.removal):
            files = request(archive)
        waited = how.wait and signals
        if waited:
            wait_deleted(archive, archive.last_correlation_id, files)
    row, text = result(files)
    if how.as_json:
        print_json(row | ({"done": waited} if signals else {}))
    else:
        pending = files and signals and not waited
        say(f"{text} ({goes_on})" if pending else text)


def with_frame_checked(
    archive: AeronArchive, recording: RecordingDescriptor, plan: RecordingPlan
) -> RecordingPlan:
    """The plan of a truncation, refused when no frame begins at its position.

    An archive notices that too late: it has already moved the stop position by then, and the
    recording ends within a frame (spec archive-protocol 23.2). Replaying from there tells.
    """
    position = plan.changes[0].after
    known = {recording.start_position, recording.stop_position}
    if plan.refusal or position in known or position % recording.term_buffer_length == 0:
        return plan
    try:
        replay = archive.start_replay(
            recording.recording_id, _CHECK_CHANNEL, _CHECK_STREAM_ID, position=position
        )
    except ArchiveError as error:
        if error.code != ArchiveErrorCode.INVALID_POSITION:
            raise
        return replace(plan, refusal=f"no frame begins at position {position}")
    archive.stop_replay(replay)
    return plan


def after_replays(archive: AeronArchive, request: Callable[[], T]) -> T:
    """What a request gives that is refused while a replay goes on: one of ours may be ending.

    Raises:
        ArchiveError: also when a replay still goes on after the archive's timeout.
    """
    idle = sleeping_idle()
    deadline = Deadline(archive.options.message_timeout)
    while True:
        try:
            return request()
        except ArchiveError as error:
            waits = error.code == ArchiveErrorCode.ACTIVE_RECORDING and "active replay" in str(
                error
            )
            if not waits or deadline.is_over:
                raise
        idle(0)
