"""``aerolog replay``: replay a recording to a channel or to the terminal."""

import math
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import (
    ArchiveDirOption,
    ArchiveOptions,
    ChannelOption,
    JsonOption,
    LengthOption,
    PositionOption,
    StreamOption,
    grouped,
)
from aerolog.tools.messages.message_output import MessageFormat, MessageWriter
from aerolog.tools.replay.time_options import TimedOptions
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive
    from aerolog.archive.client.replay.time_range import TimedRange
    from aerolog.archive.client.replay.timed_replay import TimedReplay
    from aerolog.tools.replay.replayer import Range

T = TypeVar("T")

app = typer.Typer(add_completion=False)

RecordingsArgument = Annotated[
    list[int],
    typer.Argument(metavar="ID...", help="Recording ids.", min=0, show_default=False),
]

#: What a replay that nobody here sees is thought to manage at least.
_UNSEEN_BYTES_PER_S: Final = 10_000_000


@command(
    app,
    examples=(
        "replay 7 --channel aeron:ipc --stream 2001",
        "replay 7 --from 2026-11-20T10:00 --until 2026-11-20T10:05 --speed 2x",
        "replay 3 1 2 --last 5m --format json",
    ),
)
@grouped
def replay(
    recording_ids: RecordingsArgument,
    *,
    position: PositionOption = None,
    length: LengthOption = None,
    channel: ChannelOption = None,
    stream: StreamOption = None,
    form: Annotated[
        MessageFormat | None,
        typer.Option(
            "--format",
            metavar="FORM",
            help="How to print messages. text, the default, and hex: a line a message; json: an "
            "object a line; raw: bytes alone.",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with a live recording until it stops.")
    ] = False,
    as_json: JsonOption = False,
    archive_dir: ArchiveDirOption = None,
    timed: TimedOptions,
    archive: ArchiveOptions,
) -> None:
    """Print the messages of a recording, or replay it onto --channel and --stream.

    Several are merged in time order: lines, or a stream's reserved values, name the recording.
    Without --length a replay ends at what is recorded when it begins.
    """
    to_channel = channel is not None or stream is not None
    if to_channel and (channel is None or stream is None):
        raise typer.BadParameter("--channel and --stream belong together")
    if to_channel and (form is not None or (archive_dir is not None and len(recording_ids) == 1)):
        raise typer.BadParameter("--channel replays through an archive: no --format, --archive-dir")
    if archive_dir is not None and follow:
        raise typer.BadParameter("--follow needs a running archive: no --archive-dir")
    _check_bounds(position, length, timed)
    if len(recording_ids) > 1:
        if position is not None or length is not None:
            raise typer.BadParameter("--position and --length are of one recording: not of several")
        target = None if channel is None or stream is None else (channel, stream)
        kind = MessageFormat.JSON if as_json else form or MessageFormat.TEXT
        _merge(_Merge(recording_ids, archive_dir, timed, follow), archive, target, kind)
        return
    [recording_id] = recording_ids
    wanted = _Wanted(recording_id, position, length, follow, timed)
    if channel is not None and stream is not None:
        _onto_channel(archive, wanted, (channel, stream), as_json)
        return
    kind = MessageFormat.JSON if as_json else form or MessageFormat.TEXT
    writer = MessageWriter(kind)
    if timed.is_given or kind is MessageFormat.JSON:  # which has the times
        _print_timed(archive_dir, archive, wanted, writer)
    elif archive_dir is not None:
        _from_folder(archive_dir, wanted, writer)
    else:
        _from_archive(archive, wanted, writer)


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class _Merge:
    """Which recordings are merged, and from where."""

    recording_ids: list[int]
    archive_dir: str | None
    timed: TimedOptions
    follow: bool


def _merge(
    wanted: _Merge, options: ArchiveOptions, target: tuple[str, int] | None, kind: MessageFormat
) -> None:
    from aerolog.tools.connection.clients import connect_driver
    from aerolog.tools.replay.merged_replay import (
        MergedWriter,
        open_merge,
        print_merged,
        publish_merged,
    )

    ids, pace = wanted.recording_ids, wanted.timed.pace
    opened = open_merge(ids, options, wanted.archive_dir, wanted.timed, follow=wanted.follow)
    with opened as (merged, watch):
        if target is None:
            print_merged(merged, ids, pace, MergedWriter(kind), watch)
            return
        with connect_driver(options) as aeron, aeron.add_exclusive_publication(*target) as stream:
            as_json = kind is MessageFormat.JSON
            publish_merged(merged, ids, pace, stream, watch, as_json=as_json)


def _check_bounds(position: int | None, length: int | None, timed: TimedOptions) -> None:
    if position is not None and (timed.from_time is not None or timed.last is not None):
        raise typer.BadParameter(
            "--position, --from and --last each say where to begin: one of them"
        )
    if length is not None and timed.until_time is not None:
        raise typer.BadParameter("--length and --until are two ways to say where to end")


def _print_timed(
    archive_dir: str | None, options: ArchiveOptions, wanted: "_Wanted", writer: MessageWriter
) -> None:
    from aerolog.tools.replay.timed_replay import print_timed

    bar = None if wanted.timed.pace is not None else _timed_bar
    if archive_dir is not None:
        with wanted.replay(archive_dir) as replay:
            print_timed(replay, writer, notes=wanted.timed.is_given, bar=bar)
        return
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.connection.liveness import Watch

    with open_archive(options) as client:
        watch = Watch(client.aeron, client)
        with wanted.replay(client) as replay:
            print_timed(replay, writer, notes=wanted.timed.is_given, watch=watch, bar=bar)


def _from_folder(archive_dir: str, wanted: "_Wanted", writer: MessageWriter) -> None:
    from aerolog.archive.format.archive_folder import ArchiveFolder
    from aerolog.tools.replay.replayer import print_folder, range_of

    with ArchiveFolder(archive_dir) as folder:
        recording = folder.recording(wanted.recording_id)
        part = range_of(
            recording.descriptor, recording.end_position, wanted.position, wanted.length
        )
        writer.recording = recording.descriptor
        with _bar(part.start, part.length) as on_position:
            print_folder(recording, part, writer, on_position)


def _from_archive(options: ArchiveOptions, wanted: "_Wanted", writer: MessageWriter) -> None:
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.replay.replayer import print_replay

    with open_archive(options) as client:
        part = wanted.part(client)
        writer.recording = part.descriptor
        with _bar(part.start, part.length) as on_position:
            print_replay(client, part, writer, on_position)


def _onto_channel(
    options: ArchiveOptions, wanted: "_Wanted", target: tuple[str, int], as_json: bool
) -> None:
    from aerolog.archive.client.replay.archive_replay import image_session_id
    from aerolog.tools.connection.clients import open_archive
    from aerolog.tools.replay.replayer import wait_replayed
    from aerolog.tools.terminal.console import remark

    with open_archive(options) as client:
        if wanted.timed.pace is not None:
            _paced_onto_channel(client, wanted, target, as_json)
            return
        start, length = wanted.bounds(client)
        if length == 0 and wanted.timed.has_times:
            return  # and says so
        replay_id = client.start_replay(
            wanted.recording_id, *target, position=start, length=length, follow=length is None
        )
        session_id = image_session_id(replay_id)
        _say_replaying(wanted, target, replay_id, (start, length), as_json)
        with _bar(start, length, quiet=False) as on_position:
            seen = wait_replayed(
                client,
                session_id,
                target[1],
                on_position,
                on_unseen=lambda: 0.0 if _shares_driver(options) else _patience(length),
            )
        if not seen:
            remark("the replay was not seen on this driver: it is over, or ended now")


def _paced_onto_channel(
    client: "AeronArchive", wanted: "_Wanted", target: tuple[str, int], as_json: bool
) -> None:
    from aerolog.archive.client.replay.channel_replay import ChannelReplay
    from aerolog.tools.replay.timed_replay import run_onto_channel
    from aerolog.tools.terminal.console import remark

    with wanted.made(ChannelReplay, client, wanted.recording_id, *target) as replay:
        part = replay.begin()
        for note in replay.notes:
            remark(note)
        if part.length == 0:
            remark(part.emptiness)
        start, length = part.start_position, part.length
        _say_replaying(wanted, target, replay.replay_session_id or 0, (start, length), as_json)
        with _bar(start, length, quiet=False) as on_position:
            run_onto_channel(replay, target[1], on_position)


def _say_replaying(
    wanted: "_Wanted",
    target: tuple[str, int],
    replay_id: int,
    part: tuple[int, int | None],
    as_json: bool,
) -> None:
    from aerolog.archive.client.replay.archive_replay import image_session_id
    from aerolog.tools.terminal.console import print_json_line, say

    session_id = image_session_id(replay_id)
    if not as_json:
        say(f"replaying recording {wanted.recording_id}, session {session_id}")
        return
    print_json_line(
        {
            "recording_id": wanted.recording_id,
            "replay_session_id": replay_id,
            "session_id": session_id,
            "channel": target[0],
            "stream_id": target[1],
            "position": part[0],
            "length": part[1],
        }
    )


def _shares_driver(options: ArchiveOptions) -> bool:
    """Whether the archive is asked through shared memory, and so has the driver that we have."""
    from aerolog.transport.uri import ChannelUri

    return ChannelUri.parse(options.control_channel).is_ipc


def _patience(length: int | None) -> float:
    """Seconds for a replay between others, whose end nobody here can see; says so."""
    from aerolog.tools.terminal.console import remark

    patience = math.inf if length is None else length / _UNSEEN_BYTES_PER_S
    until = "until this command is interrupted" if length is None else f"for {patience:.0f} s more"
    remark(
        "nothing of the replay is seen on this driver, so that its end cannot be told from here: "
        f"it goes on {until}"
    )
    return patience


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the command line asks for."""

    recording_id: int
    position: int | None
    length: int | None
    follow: bool
    timed: TimedOptions

    def replay(self, source: "AeronArchive | str") -> "TimedReplay":
        """The messages of an archive or of a folder, with their times."""
        from aerolog.archive.client.replay.timed_replay import TimedReplay

        return self.made(TimedReplay, source, self.recording_id)

    def made(self, kind: Callable[..., T], *what: object) -> T:
        """A replay by time of that kind, of what is given and the bounds that are asked for."""
        times = self.timed.times()
        return kind(
            *what,
            times.start_ns,
            times.end_ns,
            self.timed.pace,
            position=self.position,
            length=self.length,
            follow=self.follow,
            last_ns=times.last_ns,
        )

    def bounds(self, archive: "AeronArchive") -> tuple[int, int | None]:
        """Position and length of what an archive is to replay; without one it follows.

        Remarks that nothing was recorded in a range of time.
        """
        from aerolog.tools.terminal.console import remark

        if not self.timed.has_times:
            part = self.part(archive)
            return part.start, part.length
        with self.replay(archive) as replay:
            found = replay.find_range()
        if found.length == 0:
            remark(found.emptiness)
        return found.start_position, found.length

    def part(self, archive: "AeronArchive") -> "Range":
        """The range in a running archive."""
        from aerolog.tools.replay.replayer import range_in_archive

        return range_in_archive(
            archive, self.recording_id, self.position, self.length, follow_live=self.follow
        )


def _bar(
    start: int, length: int | None, *, quiet: bool | None = None
) -> AbstractContextManager[Callable[[int], None]]:
    from aerolog.tools.terminal.console import position_progress

    # Messages that go to the same terminal are progress enough.
    is_quiet = sys.stdout.isatty() if quiet is None else quiet
    return position_progress("replaying", start, length, quiet=is_quiet)


def _timed_bar(part: "TimedRange") -> AbstractContextManager[Callable[[int], None]]:
    return _bar(part.start_position, part.length)
