"""``describe-latest-cm-snapshot``: what the newest snapshot of the consensus module holds."""

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
from aerolog.tools.archive_files.java_error import ARCHIVE_ERROR, JavaError
from aerolog.tools.connection.archive_folder import check_folder
from aerolog.tools.recordings.recording_rows import known_recording
from aerolog.tools.reference.archive_tool.actions import EXIT_INVALID
from aerolog.tools.reference.cluster_tool.cluster_texts import message_fields, raw_dump
from aerolog.tools.reference.cluster_tool.live_actions import archive_of
from aerolog.tools.reference.cluster_tool.raw_cluster_mark import CLUSTER_ERROR, RawClusterMark
from aerolog.tools.reference.cluster_tool.recording_log_actions import (
    classic_log,
    no_snapshot,
    opened,
)
from aerolog.tools.terminal.console import print_fields, print_json, print_table
from aerolog.transport.errors import (
    AerologError,
    ArchiveError,
    MessageFormatError,
)
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH
from aerolog.transport.protocol.sbe import WireEnum

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from aerolog.cluster.files import LogEntry
    from aerolog.cluster.protocol import Message
    from aerolog.tools.reference.tool_terminal import Terminal

#: What the reference calls the messages of a snapshot.
_NAMES: Final[dict[type[Message], str]] = {
    ConsensusModule: "Consensus Module State",
    ClusterSession: "Cluster Session",
    Timer: "Timer",
    PendingMessageTracker: "Pending Message Tracker",
}

_UNITS: Final = {"MILLIS": "MILLISECONDS", "MICROS": "MICROSECONDS", "NANOS": "NANOSECONDS"}
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
    folder: str, recording_id: int, archive_dir: str | None, *, classic: bool
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
    with archive_of(folder, classic=classic) as client:
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


# -- the reference's lines -------------------------------------------------------------------------


def classic_describe_latest_cm_snapshot(
    folder: str, arguments: Sequence[str], terminal: Terminal
) -> int:
    """The messages of the newest snapshot, those with the module's numbers and the end as bytes."""
    with classic_log(folder) as log:
        newest = log.latest_snapshot(0)
    if not newest:
        terminal.line("Snapshot not found")
        return EXIT_INVALID
    recording_id = newest[0].recording_id
    archive_dir = arguments[0] if arguments else None
    parts = parts_of(folder, recording_id, archive_dir, classic=True)
    try:
        for found in snapshot_of(parts, recording_id):
            terminal.write(_classic_text(found))
    except ArchiveError as error:
        raise JavaError(ARCHIVE_ERROR, f"ERROR - {error.message}") from error
    except (ClusterError, MessageFormatError) as error:
        raise JavaError(CLUSTER_ERROR, f"ERROR - {error}") from error
    member_id = RawClusterMark.open(folder).header.member_id
    terminal.line(
        f"Consensus Module Snapshot End: memberId={member_id} recordingId={recording_id}"
        f" length={found.part.end}"
    )
    return 0


def _classic_text(found: Found) -> str:
    message, part = found
    length = len(part.data)
    match message:
        case SnapshotMarker(mark=SnapshotMark.BEGIN):
            unit = _UNITS.get(message.time_unit.name, "null")
            return f"Snapshot: appVersion={message.app_version} timeUnit={unit}\n"
        case SnapshotMarker(mark=SnapshotMark.END):
            head = f"End Snapshot, offset={part.offset}, length={length}\n"
            return head + raw_dump(part.data) + "\n"
        case SessionMessageHeader():
            session_id = message.cluster_session_id
            return f"Pending Message: length={length} clusterSessionId={session_id}\n"
    name = _NAMES.get(type(message))
    if name is None:
        return ""
    fields = " ".join(f"{key}={value}" for key, value in message_fields(message))
    dump = raw_dump(part.data) + "\n" if isinstance(message, ConsensusModule) else ""
    return f"{name}: {fields}\n{dump}"


# -- tables and JSON -------------------------------------------------------------------------------


def describe_latest_cm_snapshot(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """What the newest snapshot of the consensus module holds."""
    with opened(folder) as log:
        newest = log.latest_snapshot(0)
    if not newest:
        raise AerologError(no_snapshot(folder))
    entry = newest[0]
    archive_dir = arguments[0] if arguments else None
    parts = parts_of(folder, entry.recording_id, archive_dir, classic=False)
    try:
        shown = _row(entry, list(snapshot_of(parts, entry.recording_id)))
    except (ClusterError, MessageFormatError) as error:
        raise AerologError(
            f"the snapshot in recording {entry.recording_id} cannot be read: {error}: aerolog"
            f" cluster-tool {folder} invalidate-latest-snapshot makes the one before it count"
        ) from error
    if terminal.as_json:
        print_json(shown)
        return 0
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
    return 0


def _row(entry: LogEntry, found: list[Found]) -> dict[str, Any]:
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
