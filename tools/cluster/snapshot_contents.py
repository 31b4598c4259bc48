"""What a snapshot of the consensus module holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.cluster.errors import ClusterError
from aerolog.cluster.protocol import (
    MODULE_SNAPSHOT_TYPE_ID,
    SCHEMA,
    ClusterSession,
    ConsensusModule,
    PendingMessageTracker,
    SessionMessageHeader,
    SnapshotMark,
    SnapshotMarker,
    Timer,
    semantic_version_text,
)
from aerolog.tools.cluster.node_requests import archive_of, node_of
from aerolog.tools.cluster.recording_log import no_snapshot, opened
from aerolog.tools.connection.archive_folder import check_folder
from aerolog.tools.recordings.recording_rows import known_recording
from aerolog.tools.terminal.console import print_fields, print_table
from aerolog.transport.errors import AerologError, MessageFormatError
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH
from aerolog.transport.protocol.sbe import WireEnum

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from aerolog.cluster.files import LogEntry
    from aerolog.cluster.protocol import Message
    from aerolog.tools.cluster.node_requests import Nodes
    from aerolog.tools.terminal.command_terminal import CommandTerminal

_TABLES: Final = ("sessions", "timers", "services")


class Part(NamedTuple):
    """A message of a snapshot's recording.

    Attributes:
        data: its bytes.
        offset: of its bytes in the recording's term.
        end: the position behind it.
    """

    data: bytes
    offset: int
    end: int


class Found(NamedTuple):
    """A message of a snapshot, decoded, and where it is."""

    message: Message
    part: Part


def parts_of(
    folder: str, recording_id: int, archive_dir: str | None, nodes: Nodes
) -> Iterator[Part]:
    """The messages of a recording, from an archive's folder or else from the node's archive.

    Raises:
        ArchiveError: there is no such recording.
        DriverTimeoutError: no driver runs that could be asked for the archive.
        FileFormatError: a file of the archive is damaged.
    """
    if archive_dir is not None:
        check_folder(archive_dir)
        with ArchiveFolder(archive_dir) as archive:
            for row in archive.recording(recording_id).messages():
                yield Part(row.payload, row.term_offset + DATA_HEADER_LENGTH, row.position)
        return
    with archive_of(folder, nodes) as client:
        known_recording(client, recording_id)
        for message in client.read(recording_id):
            yield Part(message.data, message.term_offset + DATA_HEADER_LENGTH, message.position)


def snapshot_of(parts: Iterable[Part], recording_id: int) -> Iterator[Found]:
    """The messages of a snapshot up to its end marker.

    Raises:
        ClusterError: it is no such snapshot, or is not whole.
        MessageFormatError: a message is damaged, or of another schema.
    """
    has_begun = False
    for part in parts:
        message = SCHEMA.decode(part.data)
        if message is None:
            continue  # of a newer version
        if not isinstance(message, SnapshotMarker):
            yield Found(message, part)
            continue
        if message.type_id != MODULE_SNAPSHOT_TYPE_ID:
            raise ClusterError(f"unexpected snapshot type: {message.type_id}")
        if message.mark == SnapshotMark.BEGIN:
            if has_begun:
                raise ClusterError("already in snapshot")
            has_begun = True
        elif message.mark == SnapshotMark.END and not has_begun:
            raise ClusterError("missing begin snapshot")
        yield Found(message, part)
        if message.mark == SnapshotMark.END:
            return
    raise ClusterError(f"snapshot ended unexpectedly: recording {recording_id}")


def describe_snapshot(folder: str, archive_dir: str | None, terminal: CommandTerminal) -> None:
    """What the newest snapshot of the consensus module holds."""
    with opened(folder) as log:
        newest = log.latest_snapshot(0)
    if not newest:
        raise AerologError(no_snapshot(folder))
    entry = newest[0]
    parts = parts_of(folder, entry.recording_id, archive_dir, node_of)
    try:
        shown = snapshot_row(entry, list(snapshot_of(parts, entry.recording_id)))
    except (ClusterError, MessageFormatError) as error:
        raise AerologError(
            f"the snapshot in recording {entry.recording_id} cannot be read: {error}: aerolog"
            f" cluster invalidate-latest-snapshot {folder} makes the one before it count"
        ) from error
    if terminal.as_json:
        terminal.document(shown)
        return
    tables = [shown.pop(name) for name in _TABLES]
    terminal.out.flush()
    print_fields(shown)
    for name, rows in zip(_TABLES, tables, strict=True):
        if rows:
            terminal.line(f"\n{name.replace('_', ' ')}")
            terminal.out.flush()
            columns = list(rows[0])
            numbers = [one for one in columns if isinstance(rows[0][one], int)]
            print_table(columns, [list(row.values()) for row in rows], right=numbers)


def snapshot_row(entry: LogEntry, found: list[Found]) -> dict[str, Any]:
    """What a snapshot holds as JSON."""
    end, part = found[-1]
    assert isinstance(end, SnapshotMarker)
    row: dict[str, Any] = {
        "recording_id": entry.recording_id,
        "log_position": end.log_position,
        "leadership_term_id": end.leadership_term_id,
        "length": part.end,
        "time_unit": end.time_unit.name.lower(),
        "app_version": semantic_version_text(end.app_version),
        "next_session_id": None,
    }
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in _TABLES}
    for message, _ in found:
        match message:
            case ConsensusModule():
                row["next_session_id"] = message.next_session_id
            case ClusterSession():
                tables["sessions"].append(dict(_fields(message)))
            case Timer():
                tables["timers"].append(dict(_fields(message)))
            case PendingMessageTracker():
                tables["services"].append({**dict(_fields(message)), "pending_messages": 0})
            case SessionMessageHeader() if tables["services"]:
                tables["services"][-1]["pending_messages"] += 1
    return {**row, **tables}


def _fields(message: Message) -> Iterator[tuple[str, Any]]:
    for name in message.LAYOUT.names:
        value = getattr(message, name)
        yield name, value.name.lower() if isinstance(value, WireEnum) else value
