"""The commands of the reference's ArchiveTool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.tools.reference.tool import Command

if TYPE_CHECKING:
    from aerolog.tools.reference.tool import Action

#: Arguments in all that the reference's tool takes, the folder and the command's name included.
MAX_ARGUMENTS: Final = 6
_ANY: Final = range(MAX_ARGUMENTS - 1)

COMMANDS: Final[dict[str, Command]] = {
    "checksum": Command(
        range(1, 4),
        "checksum className [recordingId] [-a]",
        "Compute checksums and store them, of the last segment or with -a of all.",
        changes=True,
    ),
    "compact": Command(
        range(1),
        "compact",
        "Remove recordings that are not valid, and their segments.",
        changes=True,
    ),
    "count-entries": Command(
        range(1),
        "count-entries",
        "Number of valid recordings.",
    ),
    "delete-orphaned-segments": Command(
        _ANY,
        "delete-orphaned-segments [recordingId]",
        "Delete segments outside of their recording's start and stop.",
        changes=True,
    ),
    "describe": Command(
        range(2),
        "describe [recordingId]",
        "Valid recordings, or one of any state.",
    ),
    "describe-all": Command(
        _ANY,
        "describe-all",
        "All recordings, with their states.",
    ),
    "dump": Command(
        _ANY,
        "dump [data fragment limit per recording]",
        "All recordings and their frames.",
    ),
    "errors": Command(
        range(1),
        "errors",
        "Errors of the archive and its driver.",
    ),
    "max-entries": Command(
        range(2),
        "max-entries [number of entries]",
        "Deprecated: see capacity.",
    ),
    "migrate": Command(
        range(1),
        "migrate",
        "Bring mark file, catalog and segments of an older version up to this one.",
        changes=True,
    ),
    "pid": Command(
        range(1),
        "pid",
        "Process id of the archive.",
    ),
    "verify": Command(
        range(5),
        "verify [recordingId] [-a] [-checksum className]",
        "Check recordings and their last segment, or with -a all; faulty ones become invalid.",
        changes=True,
    ),
    "mark-invalid": Command(
        range(1, 2),
        "mark-invalid <recordingId>",
        "Make a recording invalid.",
        changes=True,
    ),
    "mark-valid": Command(
        range(1, 2),
        "mark-valid <recordingId>",
        "Make a recording valid.",
        changes=True,
    ),
}


def action_of(name: str) -> Action:
    """Give the action of a command in the table; its module is loaded now, for it takes time."""
    match name:
        case "checksum":
            from aerolog.tools.reference.archive_tool.checksum_action import checksum

            return checksum
        case "compact":
            from aerolog.tools.reference.archive_tool.compact_action import compact

            return compact
        case "count-entries":
            from aerolog.tools.reference.archive_tool.info_actions import count_entries

            return count_entries
        case "delete-orphaned-segments":
            from aerolog.tools.reference.archive_tool.orphans_action import delete_orphaned_segments

            return delete_orphaned_segments
        case "describe":
            from aerolog.tools.reference.archive_tool.describe_action import describe

            return describe
        case "describe-all":
            from aerolog.tools.reference.archive_tool.describe_action import describe_all

            return describe_all
        case "dump":
            from aerolog.tools.reference.archive_tool.dump_action import dump

            return dump
        case "errors":
            from aerolog.tools.reference.archive_tool.info_actions import errors

            return errors
        case "max-entries":
            from aerolog.tools.reference.archive_tool.deprecated_action import max_entries

            return max_entries
        case "migrate":
            from aerolog.tools.reference.archive_tool.migrate_action import migrate

            return migrate
        case "pid":
            from aerolog.tools.reference.archive_tool.info_actions import pid

            return pid
        case "verify":
            from aerolog.tools.reference.archive_tool.verify_action import verify

            return verify
        case "mark-invalid":
            from aerolog.tools.reference.archive_tool.mark_action import mark_invalid

            return mark_invalid
        case "mark-valid":
            from aerolog.tools.reference.archive_tool.mark_action import mark_valid

            return mark_valid
        case _:
            raise KeyError(name)
