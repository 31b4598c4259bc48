"""The progress of a stream: how far it may read in recordings now, and what data it has lost.

This is plain Python and needs no Spark session.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aerolog.archive.format.layout import MAX_I64
from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.catalog.arrow.arrow_recording import record_batches
from aerolog.catalog.arrow.record_times import SettledTimes, settled_times
from aerolog.catalog.locations import OpenPlaces
from aerolog.catalog.spark.errors import DataLostError
from aerolog.catalog.spark.offsets import Key, Offset, Progress
from aerolog.catalog.spark.partitions import Range, chosen
from aerolog.transport.errors import ArchiveError, FileFormatError, RecordingDamagedError
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.archive.format.archive_folder import ArchiveFolder, Recording
    from aerolog.catalog.spark.options import ReadOptions


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one micro-batch, for all recordings together."""

    rows: int = MAX_I64
    bytes: int = MAX_I64

    @property
    def is_open(self) -> bool:
        """Whether there is no limit."""
        return self.rows == self.bytes == MAX_I64


@dataclass(slots=True)
class _Ahead:
    """A recording that has data which the stream has not read."""

    key: Key
    recording: Recording
    progress: Progress
    end: int


class OffsetReader:
    """Reads the recordings' state anew with every call, and keeps nothing open."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options

    def latest(self, start: Offset, limits: Limits, target: Offset | None = None) -> Offset:
        """Compute the offset at which a micro-batch ends.

        Args:
            start: the offset at which the micro-batch begins.
            limits: the limits of the micro-batch. Recordings share them evenly, those with the most
                unread data first, and each advances by one message at least.
            target: the offset that must not be passed; recordings that it does not contain are not
                read.

        Raises:
            DataLostError: data that was not read yet is gone, and the options ask to fail then.
        """
        found = dict(start)
        ahead: list[_Ahead] = []
        for key, recording in self._recordings(start):
            progress = self._progress(key, recording, start.get(key))
            end = self._end(recording, progress)
            if target is not None:
                end = min(end, target[key].position if key in target else progress.position)
                if key not in target and key not in start:
                    continue
            if end > progress.position:
                ahead.append(_Ahead(key, recording, progress, end))
            elif key in start or limits.is_open:
                found[key] = replace(progress, ended=_has_ended(recording, progress.position))
        rows, size = limits.rows, limits.bytes
        for index, each in enumerate(sorted(ahead, key=_most_first)):
            if rows <= 0 or size <= 0:
                break
            left = len(ahead) - index
            share = Limits(-(-rows // left), -(-size // left))
            try:
                position, used = self._advance(each, share)
            except RecordingDamagedError:
                if not self.options.skip_damage:
                    raise
                position, used = each.end, 0  # rows behind the damage cannot be counted here
            rows -= used
            size -= position - each.progress.position
            times = self._times(each.recording)
            ended = _has_ended(each.recording, position)
            found[each.key] = Progress(each.progress.start, position, ended, times)
        return found

    def ranges(self, start: Offset, end: Offset) -> list[Range]:
        """The ranges of a micro-batch; the same offsets always give the same ranges.

        Raises:
            DataLostError: a part of the data is gone, and the options ask to fail then.
        """
        shown = {without_secrets(place): place for place in self._places()}
        found: list[Range] = []
        with OpenPlaces(self.options.open) as places:
            for key, progress in sorted(end.items()):
                first = start[key].position if key in start else progress.start
                if first >= progress.position:
                    continue
                place, recording_id = shown.get(key[0], key[0]), key[1]
                folder = places.folder(place)
                first = self._kept(folder, recording_id, first, progress.position)
                if first < progress.position:
                    settled = SettledTimes.from_json(progress.times)
                    part = Range(place, recording_id, first, progress.position, settled=settled)
                    found.append(part)
        return found

    def _times(self, recording: Recording) -> tuple[int, ...]:
        if not self.options.wants_times:
            return ()
        return tuple(settled_times(recording, self.options.time_source).to_json())

    def _kept(self, folder: ArchiveFolder, recording_id: int, first: int, until: int) -> int:
        """The position from which on a range still exists."""
        try:
            start = folder.catalog.checked_entry(recording_id).descriptor.start_position
        except ArchiveError as error:
            self._lost(recording_id, first, until, "the recording is gone", error)
            return until
        if start > first:
            self._lost(recording_id, first, min(start, until), "the recording was purged")
        return max(start, first)

    @property
    def _lenient(self) -> ReadOptions:
        """The options; recordings that come later are followed too, so that ids may be unknown."""
        choice = replace(self.options.choice, allow_unknown=True)
        return replace(self.options, choice=choice)

    def _places(self) -> list[str]:
        return list(chosen(self._lenient))

    def _recordings(self, start: Offset) -> Iterator[tuple[Key, Recording]]:
        """The selected recordings that can be opened; the others are checked for lost data."""
        seen: set[Key] = set()
        for place, ids in chosen(self._lenient).items():
            shown = without_secrets(place)
            with self.options.open(place) as folder:
                for recording_id in ids:
                    key = (shown, recording_id)
                    seen.add(key)
                    try:
                        recording = folder.recording(recording_id)
                    except ArchiveError as error:
                        self._missing(key, start.get(key), error)
                        continue
                    except FileFormatError:
                        if not self.options.skip_damage:
                            raise
                        continue
                    yield key, recording
        for key, progress in start.items():
            if key not in seen:
                self._missing(key, progress)

    def _missing(self, key: Key, progress: Progress | None, cause: Exception | None = None) -> None:
        if progress is not None and not progress.ended:
            problem = f"the recording is gone from {key[0]}"
            self._lost(key[1], progress.position, None, problem, cause)

    def _progress(self, key: Key, recording: Recording, known: Progress | None) -> Progress:
        """The progress from which reading continues."""
        if known is None:
            return Progress(recording.start_position, recording.start_position)
        if recording.start_position > known.position:
            self._lost(key[1], known.position, recording.start_position, "the recording was purged")
            return replace(known, position=recording.start_position)
        if not recording.descriptor.is_active and recording.end_position < known.position:
            problem = f"the recording was truncated to position {recording.end_position}"
            self._lost(key[1], known.position, None, problem)
        return known

    def _lost(
        self,
        recording_id: int,
        first: int,
        until: int | None,
        problem: str,
        cause: Exception | None = None,
    ) -> None:
        if not self.options.fail_on_data_loss:
            return
        part = f"from position {first}" + ("" if until is None else f" to {until}")
        raise DataLostError(
            f"the stream has lost recording {recording_id} {part}, which it had not read:"
            f" {problem}; option failOnDataLoss=false goes on with what is there",
            recording_id,
            first,
        ) from cause

    def _end(self, recording: Recording, progress: Progress) -> int:
        """The position up to which a recording may be read now."""
        if not recording.descriptor.is_active:
            return recording.end_position
        if not recording.is_live and _is_written(recording.folder):
            # The archive runs and does not publish its position: it is just starting or stopping,
            # or runs on another machine. The files alone do not show which data is final.
            return progress.position
        # The recorder may be in the middle of a message.
        try:
            return self._message_end(recording, progress.position, recording.end_position)
        except RecordingDamagedError:
            if not self.options.skip_damage:
                raise
            return recording.end_position

    def _message_end(self, recording: Recording, first: int, limit: int) -> int:
        """The end of the last message between two positions; without one, the first position."""
        term = recording.descriptor.term_buffer_length
        at = max(first, limit - limit % term)
        while True:
            last = at
            for batch in record_batches(
                recording,
                columns=("position",),
                assemble=self.options.assemble,
                from_position=at,
                until_position=limit,
            ):
                last = batch.column(0)[-1].as_py()
            if last > at or at <= first:
                return last
            at, limit = max(first, at - term), at  # the term has no complete message yet

    def _advance(self, ahead: _Ahead, limits: Limits) -> tuple[int, int]:
        """The position to which a recording advances, by one message at least, and its rows."""
        first, end = ahead.progress.position, ahead.end
        limit = min(end, first + limits.bytes) if limits.bytes < MAX_I64 else end
        if limits.rows == MAX_I64:
            if limit == end:
                return end, 0
            position = self._message_end(ahead.recording, first, limit)
            return (position, 0) if position > first else self._rows(ahead, end, 1)
        position, used = self._rows(ahead, limit, limits.rows)
        return (position, used) if position > first else self._rows(ahead, end, 1)

    def _rows(self, ahead: _Ahead, limit: int, rows: int) -> tuple[int, int]:
        """The position after a number of rows and their number; the limit where there are fewer."""
        first, used = ahead.progress.position, 0
        for batch in record_batches(
            ahead.recording,
            columns=("position",),
            assemble=self.options.assemble,
            from_position=first,
            until_position=limit,
        ):
            if used + batch.num_rows >= rows:
                return batch.column(0)[rows - used - 1].as_py(), rows
            used += batch.num_rows
            first = batch.column(0)[-1].as_py()
        return (limit if limit == ahead.end else first), used


def _most_first(ahead: _Ahead) -> tuple[int, Key]:
    return ahead.progress.position - ahead.end, ahead.key


def _has_ended(recording: Recording, position: int) -> bool:
    return not recording.descriptor.is_active and position >= recording.end_position


def _is_written(folder: ArchiveFolder) -> bool:
    """Whether an archive is running in a folder."""
    try:
        return ArchiveMarkFile.open(folder.path, files=folder.files).is_active()
    except (FileNotFoundError, FileFormatError):
        return False
