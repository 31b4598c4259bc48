"""``describe-latest-cm-snapshot``: what the newest snapshot of the consensus module holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.errors import ClusterError
from aerolog.cluster.protocol import (
    ClusterSession,
    ConsensusModule,
    PendingMessageTracker,
    SessionMessageHeader,
    SnapshotMark,
    SnapshotMarker,
    Timer,
)
from aerolog.tools.cluster.snapshot_contents import Found, parts_of, snapshot_of, snapshot_row
from aerolog.tools.command_line.java_error import ARCHIVE_ERROR, CLUSTER_ERROR, JavaError
from aerolog.tools.reference.cluster_tool.cluster_texts import message_fields, raw_dump
from aerolog.tools.reference.cluster_tool.live_actions import reference_node
from aerolog.tools.reference.cluster_tool.raw_cluster_mark import RawClusterMark
from aerolog.tools.reference.cluster_tool.recording_log_actions import reference_log
from aerolog.tools.reference.tool import EXIT_INVALID
from aerolog.transport.errors import ArchiveError, MessageFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def describe_latest_cm_snapshot(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """The messages of the newest snapshot, those with the module's numbers and the end as bytes."""
    with reference_log(folder) as log:
        newest = log.latest_snapshot(0)
    if not newest:
        terminal.result({"problem": "Snapshot not found"}, "Snapshot not found")
        return EXIT_INVALID
    recording_id = newest[0].recording_id
    archive_dir = arguments[0] if arguments else None
    parts = parts_of(folder, recording_id, archive_dir, reference_node)
    try:
        if terminal.as_json:
            found_all = list(snapshot_of(parts, recording_id))
            terminal.document(snapshot_row(newest[0], found_all))
            return 0
        for found in snapshot_of(parts, recording_id):
            terminal.write(_text(found))
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


def _text(found: Found) -> str:
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
