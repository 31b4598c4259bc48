"""What an archive completes at its start because a crash, or its end, interrupted it.

A request changes the catalog first and files afterwards (spec archive-protocol 14), so comparing
the two shows what is left to do: segments after a recording's stop position, segments of a purged
recording, and second names of segments that moved from one recording to another. The reference
leaves them. Its tool, and the next recovery, would then take the bytes after a stop position for
recorded data. Detached segments lie before the start position and stay untouched.

Every start works on the names of segments. A start after a crash looks into segments as well,
because frames may follow the stop position in the last one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aerolog.archive.format.segment import (
    parse_segment_name,
    segment_file_name,
    segments_by_recording,
)
from aerolog.archive.format.stop_recovery import IO_LENGTH, make_whole, recover_stop_position
from aerolog.archive.protocol.enums import RecordingState
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from aerolog.archive.format.catalog_file import CatalogFile
    from aerolog.archive.format.descriptor import RecordingDescriptor


def finish_interrupted(
    catalog: CatalogFile, *, after_crash: bool, io_length: int = IO_LENGTH
) -> list[str]:
    """Complete interrupted requests in a folder whose recordings all have their stop positions.

    Args:
        catalog: the folder's catalog, owned by the caller and refreshed.
        after_crash: whether the last archive may have ended in the middle of a request.
        io_length: the archive's ``file.io.max.length``, bytes.

    Returns:
        One line of text for each change that was made.
    """
    return _Repair(catalog, io_length).run(after_crash=after_crash)


@dataclass(slots=True)
class _Repair:
    """One pass over a folder.

    Attributes:
        catalog: the folder's catalog.
        io_length: bytes per read.
        segments: base positions of the existing segments, by recording id.
        done: one line for each change made so far.
    """

    catalog: CatalogFile
    io_length: int
    folder: str = ""
    segments: dict[int, dict[int, str]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    def run(self, *, after_crash: bool) -> list[str]:
        files = self.catalog.files
        self.folder = str(Path(self.catalog.path).parent)
        for recording_id, names in segments_by_recording(files.list_dir(self.folder)).items():
            self.segments[recording_id] = _by_base(names)
        if after_crash:
            self._finish_moves()
            if self.catalog.checksum is not None:
                self.catalog.refresh_checksums()
        for recording_id in list(self.segments):
            if recording_id in self.catalog:
                self._finish_deletion(recording_id)
                if after_crash:
                    self._finish_cut(recording_id)
        self._finish_purges()
        if self.done and self.catalog.sync_level > 0:
            files.sync_dir(self.folder)
        return self.done

    def _path(self, name: str) -> str:
        return str(Path(self.folder) / name)

    def _sound(self, recording_id: int) -> RecordingDescriptor | None:
        """Return a recording's descriptor, None when arithmetic with it is not safe.

        A request for such a recording is refused with the reason; other recordings are unaffected.
        """
        try:
            found = self.catalog.checked_entry(recording_id).descriptor
        except FileFormatError:
            return None
        # Without an end, which could not be found, nothing is behind it.
        return None if found.is_active else found

    def _remove(self, recording_id: int, base: int, why: str) -> None:
        name = self.segments[recording_id].pop(base)
        if not self.catalog.files.is_regular(self._path(name)):
            return  # links and folders do not belong to the archive
        self.catalog.files.remove(self._path(name))
        self.done.append(f"recording {recording_id}: removed {name}, {why}")

    def _finish_deletion(self, recording_id: int) -> None:
        """Remove segments after the one that holds the stop position."""
        descriptor = self._sound(recording_id)
        if descriptor is None:
            return
        last = descriptor.segment_base(descriptor.stop_position)
        for base in [base for base in self.segments[recording_id] if base > last]:
            self._remove(recording_id, base, f"behind its end at {descriptor.stop_position}")

    def _finish_cut(self, recording_id: int) -> None:
        """Cut the last segment at the stop position when whole frames follow it."""
        descriptor = self._sound(recording_id)
        if descriptor is None:
            return
        stop = descriptor.stop_position
        base = descriptor.segment_base(stop)
        name = self.segments[recording_id].get(base)
        if name is None or not self.catalog.files.is_regular(self._path(name)):
            return
        active = descriptor.with_changes(start_position=max(base, descriptor.start_position))
        files, length = self.catalog.files, descriptor.segment_file_length
        checksum = self.catalog.checksum
        found = recover_stop_position(
            files, self.folder, active, [name], checksum=checksum, io_length=self.io_length
        )
        keep = stop - base if found.position > stop else None
        if make_whole(files, self._path(name), length, keep) and keep is not None:
            self.done.append(f"recording {recording_id}: cut {name} off at its end at {stop}")

    def _finish_purges(self) -> None:
        """Remove the segments of recordings that are DELETED in the catalog."""
        orphans = {i for i, found in self.segments.items() if found and i not in self.catalog}
        if not orphans:
            return
        for recording_id in self.catalog.ids_in_state(RecordingState.DELETED):
            if recording_id in orphans:
                for base in sorted(self.segments[recording_id]):
                    self._remove(recording_id, base, "it was purged")

    def _finish_moves(self) -> None:
        """Undo or complete moves of segments from one recording to another."""
        owners: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for recording_id, found in self.segments.items():
            for base, name in found.items():
                identity = self.catalog.files.shared_file(self._path(name))
                if identity is not None:
                    owners.setdefault(identity, []).append((recording_id, base))
        for names in owners.values():
            bases = {base for _, base in names}
            if len(names) == 2 and len(bases) == 1:
                (one, base), (other, _) = names
                self._give_to_one(one, other, base)

    def _give_to_one(self, one: int, other: int, base: int) -> None:
        """Decide which of two recordings keeps a segment that has the names of both."""
        claims = [i for i in (one, other) if self._claims(i, base)]
        if len(claims) == 2:
            # The target's entry includes the segment and the source's entry was not yet changed.
            first, second = (self.catalog.checked_entry(i).descriptor for i in claims)
            source = first if _is_inside(first, second) else second
            if not _is_inside(source, second if source is first else first):
                return
            self.catalog.update_stop_position(source.recording_id, source.start_position)
            self.done.append(f"recording {source.recording_id}: emptied, its segments have moved")
            claims.remove(source.recording_id)
        if len(claims) == 1:
            loser = other if claims[0] == one else one
            self._remove(loser, base, f"it is a segment of recording {claims[0]}")

    def _claims(self, recording_id: int, base: int) -> bool:
        descriptor = self._sound(recording_id) if recording_id in self.catalog else None
        if descriptor is None:
            return False
        first = descriptor.segment_base(descriptor.start_position)
        return first <= base < descriptor.stop_position


def _is_inside(inner: RecordingDescriptor, outer: RecordingDescriptor) -> bool:
    """Return whether one recording's range lies within another's, which is larger."""
    begins_later = outer.start_position <= inner.start_position
    ends_earlier = inner.stop_position <= outer.stop_position
    inner_length = inner.stop_position - inner.start_position
    outer_length = outer.stop_position - outer.start_position
    return begins_later and ends_earlier and inner_length < outer_length


def _by_base(names: list[str]) -> dict[int, str]:
    """Return segment names by base position; names of another form are left out."""
    found = {}
    for name in names:
        try:
            parsed = parse_segment_name(name)
        except FileFormatError:
            continue
        if segment_file_name(parsed.recording_id, parsed.base_position) == name:
            found[parsed.base_position] = name
    return found
