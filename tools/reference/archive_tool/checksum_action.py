"""``checksum``: checksums of frames and of catalog entries are computed and stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.tools.archive_files.catalog_editor import EditableCatalog, Entry
from aerolog.tools.archive_files.checksum_names import check_class_name, checksum_of_class
from aerolog.tools.archive_files.checksum_stamps import (
    StampChoice,
    stamp_entry,
    stamp_segments,
)
from aerolog.tools.archive_files.segment_names import base_of, segments_by_id
from aerolog.tools.archive_files.segment_walkers import Walkers
from aerolog.tools.command_line.java_error import NULL_POINTER, JavaError, parse_long
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frames import FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerolog.tools.reference.tool_terminal import Terminal

_ALL: Final = "-a"
_BODY_LENGTH_MAX: Final = 64 * 1024


def choice_of(arguments: Sequence[str]) -> StampChoice:
    """Give what the reference makes of arguments.

    Raises:
        JavaError: what it makes nothing of.
    """
    name, *rest = arguments
    if not rest or rest[0] == _ALL:
        return StampChoice(check_class_name(name), None, bool(rest))
    return StampChoice(check_class_name(name), parse_long(rest[0]), rest[1:] == [_ALL])


def checksum(folder: str, arguments: Sequence[str], terminal: Terminal) -> int:
    """Compute and store checksums."""
    choice = choice_of(arguments)
    found = checksum_of_class(choice.checksum)
    told: list[str] = []
    with EditableCatalog.open(folder) as catalog, Walkers(found) as walkers:
        names = segments_by_id(folder)
        if choice.recording_id is None:
            entries = catalog.entries()
        else:
            entries = [catalog.valid_entry(choice.recording_id)]
        for entry in entries:
            try:
                stamp_entry(catalog, entry, found)
                lines = _stamp(folder, entry, names.get(entry.recording_id, []), choice, walkers)
            except JavaError as error:
                if choice.recording_id is not None:
                    raise
                at = f"(recordingId={entry.recording_id})"
                lines = [f"{at} ERR: failed to compute checksums", str(error)]
            told += lines
            for line in [] if terminal.as_json else lines:
                terminal.line(line)
    if terminal.as_json:
        stamped = [entry.recording_id for entry in entries]
        terminal.document({"checksum": choice.checksum, "recordings": stamped, "problems": told})
    return 0


def _stamp(
    folder: str, entry: Entry, own: list[str], choice: StampChoice, walkers: Walkers
) -> list[str]:
    """Stamp a recording's segments, and give what the reference says is wrong with them.

    Raises:
        JavaError: it ends the reference's work on the recording.
    """
    if not own and not choice.all_segments:
        raise JavaError(NULL_POINTER)
    # For one recording the reference makes room for its own frames alone.
    body_length_max = _BODY_LENGTH_MAX
    if choice.recording_id is not None:
        body_length_max = align(entry.mtu_length, FRAME_ALIGNMENT)
    said: list[str] = []
    chosen = own if choice.all_segments else [max(own, key=base_of)]
    for path, failure, problem in stamp_segments(folder, entry, chosen, walkers, body_length_max):
        at = f"(recordingId={entry.recording_id}, file={path}) ERR: "
        said += [at + "failed to checksum", str(failure)] if failure else [f"{at}{problem}"]
    return said
