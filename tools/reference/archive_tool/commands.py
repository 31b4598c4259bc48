"""The commands of the reference's ArchiveTool."""

from __future__ import annotations

from typing import Final

from aerolog.tools.reference.archive_tool import (
    checksum_action,
    compact_action,
    deprecated_action,
    describe_action,
    dump_action,
    info_actions,
    mark_action,
    migrate_action,
    orphans_action,
    verify_action,
)
from aerolog.tools.reference.tool import Command

#: Arguments in all that the reference's tool takes, the folder and the command's name included.
MAX_ARGUMENTS: Final = 6
_ANY: Final = range(MAX_ARGUMENTS - 1)

COMMANDS: Final[dict[str, Command]] = {
    "checksum": Command(
        checksum_action.checksum,
        range(1, 4),
        "checksum className [recordingId] [-a]",
        "Compute checksums and store them, of the last segment or with -a of all.",
        changes=True,
    ),
    "compact": Command(
        compact_action.compact,
        range(1),
        "compact",
        "Remove recordings that are not valid, and their segments.",
        changes=True,
    ),
    "count-entries": Command(
        info_actions.count_entries,
        range(1),
        "count-entries",
        "Number of valid recordings.",
    ),
    "delete-orphaned-segments": Command(
        orphans_action.delete_orphaned_segments,
        _ANY,
        "delete-orphaned-segments [recordingId]",
        "Delete segments outside of their recording's start and stop.",
        changes=True,
    ),
    "describe": Command(
        describe_action.describe,
        range(2),
        "describe [recordingId]",
        "Valid recordings, or one of any state.",
    ),
    "describe-all": Command(
        describe_action.describe_all,
        _ANY,
        "describe-all",
        "All recordings, with their states.",
    ),
    "dump": Command(
        dump_action.dump,
        _ANY,
        "dump [data fragment limit per recording]",
        "All recordings and their frames.",
    ),
    "errors": Command(
        info_actions.errors,
        range(1),
        "errors",
        "Errors of the archive and its driver.",
    ),
    "max-entries": Command(
        deprecated_action.max_entries,
        range(2),
        "max-entries [number of entries]",
        "Deprecated: see capacity.",
    ),
    "migrate": Command(
        migrate_action.migrate,
        range(1),
        "migrate",
        "Bring mark file, catalog and segments of an older version up to this one.",
        changes=True,
    ),
    "pid": Command(
        info_actions.pid,
        range(1),
        "pid",
        "Process id of the archive.",
    ),
    "verify": Command(
        verify_action.verify,
        range(5),
        "verify [recordingId] [-a] [-checksum className]",
        "Check recordings and their last segment, or with -a all; faulty ones become invalid.",
        changes=True,
    ),
    "mark-invalid": Command(
        mark_action.mark_invalid,
        range(1, 2),
        "mark-invalid <recordingId>",
        "Make a recording invalid.",
        changes=True,
    ),
    "mark-valid": Command(
        mark_action.mark_valid,
        range(1, 2),
        "mark-valid <recordingId>",
        "Make a recording valid.",
        changes=True,
    ),
}
