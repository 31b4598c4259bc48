"""Changes: asked about, checked, waited for."""

from __future__ import annotations

import io
import json
from collections import deque
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import typer

from aerolog.archive.client import RecordingSignal
from aerolog.tools.command_line.options import ArchiveOptions, ChangeOptions
from aerolog.tools.recordings import change_plans, recording_change
from aerolog.tools.recordings.recording_waits import wait_deleted, wait_extended
from aerolog.tools.retention.options import RecordingRemovalOptions
from aerolog.tools.terminal import confirmation
from aerolog.transport.errors import (
    AerologError,
    AeronTimeoutError,
    ArchiveError,
    ArchiveErrorCode,
    NotConnectedError,
)

from .fake_archive import TERM, FakeArchive, descriptor, signal

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAN = change_plans.purge(descriptor(3))
REFUSED = change_plans.purge(descriptor(3, stop_position=-1))
ACTIVE_REPLAY = ArchiveError(
    ArchiveErrorCode.ACTIVE_RECORDING, "cannot truncate recording with active replay 3"
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def fake(**fields: Any) -> Any:
    return FakeArchive(**fields)


@pytest.fixture
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))


def test_without_a_terminal_nothing_can_be_asked(no_terminal: None) -> None:
    with pytest.raises(typer.BadParameter, match="--yes"):
        confirmation.check_can_ask(yes=False, dry_run=False)
    confirmation.check_can_ask(yes=True, dry_run=False)
    confirmation.check_can_ask(yes=False, dry_run=True)


@pytest.mark.parametrize(
    ("typed", "goes_on"),
    [("y\n", True), (" YES\n", True), ("n\n", False), ("\n", False), ("", False)],
)
def test_the_plan_is_shown_and_only_a_yes_goes_on(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    goes_on: bool,
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    confirmation.check_can_ask(yes=False, dry_run=False)

    if goes_on:
        confirmation.ask(PLAN, yes=False)
    else:
        with pytest.raises(typer.Exit) as ended:
            confirmation.ask(PLAN, yes=False)
        assert ended.value.exit_code == 1

    out, err = capsys.readouterr()
    assert out == ""
    assert "remove recording 3 (aeron:ipc stream 1001), 0 to 4096" in err
    assert ("nothing is changed" in err) is not goes_on


def test_with_yes_nothing_is_asked_or_shown(capsys: pytest.CaptureFixture[str]) -> None:
    confirmation.ask(PLAN, yes=True)

    assert capsys.readouterr() == ("", "")


def test_a_dry_run_of_what_would_be_refused_fails_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(AerologError, match="recording 3 is active"):
        confirmation.show_dry_run(REFUSED, as_json=True)

    assert json.loads(capsys.readouterr().out)["refusal"].startswith("recording 3 is active")


class Change:
    """Runs one change against an archive in memory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, archive: Any) -> None:
        @contextmanager
        def open_archive(_: ArchiveOptions) -> Iterator[Any]:
            yield archive

        monkeypatch.setattr(recording_change, "open_archive", open_archive)
        self.asked_for: list[str] = []

    def __call__(
        self, how: ChangeOptions, plan: change_plans.RecordingPlan = PLAN, **more: Any
    ) -> None:
        def request(_: Any) -> int:
            self.asked_for.append("request")
            return 2

        recording_change.change(
            ArchiveOptions(),
            how,
            RecordingRemovalOptions(),
            plan=lambda _: replace(plan, removal=None),  # who is asked: unit/retention
            request=request,
            result=lambda files: ({"files": files}, f"{files} files deleted"),
            **more,
        )


@pytest.mark.parametrize(
    ("how", "out"),
    [
        (ChangeOptions(yes=True), "2 files deleted (the archive deletes them now)\n"),
        (ChangeOptions(yes=True, wait=True), "2 files deleted\n"),
        (ChangeOptions(yes=True, as_json=True), {"files": 2, "done": False}),
        (ChangeOptions(yes=True, as_json=True, wait=True), {"files": 2, "done": True}),
    ],
)
def test_a_change_is_made_and_told(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    how: ChangeOptions,
    out: Any,
) -> None:
    archive = fake(script=deque([[], [signal(RecordingSignal.DELETE, 42)]]))

    Change(monkeypatch, archive)(how)

    printed = capsys.readouterr().out
    assert (json.loads(printed) if how.as_json else printed) == out
    assert bool(archive.script) is not how.wait


def test_what_would_be_refused_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    change = Change(monkeypatch, fake())

    with pytest.raises(AerologError, match="recording 3 is active"):
        change(ChangeOptions(yes=True), REFUSED)
    change(ChangeOptions(dry_run=True))

    assert change.asked_for == []


def test_what_needs_no_question_asks_none(
    monkeypatch: pytest.MonkeyPatch, no_terminal: None, capsys: pytest.CaptureFixture[str]
) -> None:
    change = Change(monkeypatch, fake())

    change(ChangeOptions(as_json=True), asks=False, signals=False)

    assert json.loads(capsys.readouterr().out) == {"files": 2}


def test_another_requests_signal_is_not_waited_for() -> None:
    archive = fake(
        script=deque([[signal(RecordingSignal.DELETE, 41), signal(RecordingSignal.STOP, 42)]])
    )

    with pytest.raises(AeronTimeoutError, match="has not signalled DELETE"):
        wait_deleted(archive, 42, 0)


def test_an_error_before_the_signal_counts_more() -> None:
    error = ArchiveError(0, "unable to delete segment file: 3-0.rec")
    archive = fake(script=deque([[error, signal(RecordingSignal.DELETE, 42)]]))

    with pytest.raises(ArchiveError, match="unable to delete segment file"):
        wait_deleted(archive, 42, 1)


def test_an_archive_that_goes_away_is_not_waited_for() -> None:
    with pytest.raises(NotConnectedError):
        wait_deleted(fake(is_disconnected=True), 42, 1)


def test_an_extension_is_told_with_its_position() -> None:
    archive = fake(script=deque([[], [signal(RecordingSignal.EXTEND, 42, position=4096)]]))

    assert wait_extended(archive, 42) == 4096


def test_a_frame_is_looked_for_by_a_replay_that_is_stopped() -> None:
    archive, recording = fake(), descriptor(3)
    plan = change_plans.truncation(recording, 1024)

    assert recording_change.with_frame_checked(archive, recording, plan) is plan
    assert archive.calls == [("start_replay", 3, 1024), ("stop_replay", 17)]


def test_where_no_frame_begins_the_plan_is_refused() -> None:
    error = ArchiveError(ArchiveErrorCode.INVALID_POSITION, "does not point to a valid frame")
    archive, recording = fake(answers=deque([error])), descriptor(3)

    plan = recording_change.with_frame_checked(
        archive, recording, change_plans.truncation(recording, 1024)
    )

    assert plan.refusal == "no frame begins at position 1024"


def test_another_error_of_the_check_is_raised() -> None:
    archive = fake(answers=deque([ArchiveError(ArchiveErrorCode.MAX_REPLAYS, "max replays")]))
    recording = descriptor(3)

    with pytest.raises(ArchiveError, match="max replays"):
        recording_change.with_frame_checked(
            archive, recording, change_plans.truncation(recording, 1024)
        )


@pytest.mark.parametrize("position", [0, 2 * TERM, 3 * TERM, 17])
def test_known_beginnings_and_refused_plans_are_not_looked_for(position: int) -> None:
    archive, recording = fake(), descriptor(3, stop_position=3 * TERM)
    plan = change_plans.truncation(recording, position)

    assert recording_change.with_frame_checked(archive, recording, plan) is plan
    assert archive.calls == []


def test_a_request_waits_for_a_replay_to_end() -> None:
    answers: deque[Any] = deque([ACTIVE_REPLAY, ACTIVE_REPLAY, 5])

    def request() -> int:
        answer = answers.popleft()
        if isinstance(answer, ArchiveError):
            raise answer
        return int(answer)

    assert recording_change.after_replays(fake(), request) == 5


@pytest.mark.parametrize(
    "error", [ACTIVE_REPLAY, ArchiveError(ArchiveErrorCode.ACTIVE_RECORDING, "active recording")]
)
def test_a_replay_that_does_not_end_and_other_errors_are_raised(error: ArchiveError) -> None:
    def request() -> int:
        raise error

    with pytest.raises(ArchiveError) as raised:
        recording_change.after_replays(fake(), request)

    assert raised.value is error
