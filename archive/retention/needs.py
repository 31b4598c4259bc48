"""Who needs a recording's data now: asked by whatever deletes, at the moment when it deletes.

Policies, and commands that cut or remove recordings, ask the same: the holds in the folder, what
the SQL catalog, the folder's journal and exports know, and the archive's replications. An archive
refuses by itself what its replays read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerolog.archive.protocol.extension_query import REPLAY
from aerolog.archive.retention.holds import HOLD_NEED, Holds, step_lock
from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from aerolog.archive.retention.facts import Need
    from aerolog.transport.memory.filesystem import FileSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Knowledge from outside the folder: SQL catalog, exports and file system.

    Attributes:
        labels: labels by recording id.
        needs: needs of exports, pipelines and replications elsewhere.
        total_bytes: the file system's size, None when it is not known.
    """

    labels: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    total_bytes: int | None = None


#: Looks up what is known now of a recording, or of all for None. It keeps no copy, and raises an
#: error when it cannot tell all needs: nothing may be deleted then.
Lookup = Callable[[int | None], Known]


def nothing_known(recording_id: int | None) -> Known:
    """Return that nothing is known outside the folder."""
    del recording_id
    return Known()


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Data of a recording that is to be deleted, or put out of reach.

    Attributes:
        recording_id: the recording.
        before: everything before this position goes; None when what goes reaches to the end.
        stop_position: the recording's end, None while it has none.
        is_readable: whether any of it can be read; only holds speak against the loss of the rest.
    """

    recording_id: int
    before: int | None = None
    stop_position: int | None = None
    is_readable: bool = True

    def breaks(self, need: Need) -> bool:
        """Return whether a need of the recording speaks against it."""
        if need.recording_id != self.recording_id:
            return False
        if not self.is_readable and need.kind != HOLD_NEED:
            return False
        if self.before is None:
            return not need.is_over(self.stop_position)
        return need.position < self.before


@repr_without_secrets
@dataclass(frozen=True, slots=True, kw_only=True)
class PresentNeeds:
    """The needs of a folder's recordings, looked up at each question.

    Attributes:
        archive_dir: the archive's folder.
        files: the file system to use.
        now_ms: returns the time at which holds are evaluated, epoch milliseconds.
        known: looks up what is known outside the folder.
        archive: returns the needs of the archive itself.
    """

    archive_dir: str | Path
    files: FileSystem
    now_ms: Callable[[], int]
    known: Lookup = nothing_known
    archive: Callable[[], Iterable[Need]] = tuple

    def against(self, removal: Removal) -> Need | None:
        """Return a need that speaks against removing data now, None when there is none.

        Raises:
            HoldsDamagedError: the holds cannot be read.
            AerologError: a need cannot be looked up.
        """
        recording_id = removal.recording_id
        held = Holds.open(self.archive_dir, self.files).of(recording_id, self.now_ms())
        needs = [hold.need() for hold in held]
        needs += self.known(recording_id).needs
        needs += [need for need in self.archive() if need.kind != REPLAY]
        return next((need for need in needs if removal.breaks(need)), None)

    @contextmanager
    def step(self, removal: Removal) -> Iterator[Need | None]:
        """Lock out other steps and changes of holds, and yield what speaks against this step.

        Raises:
            RetentionError: another step does not end, or the disk is full.
            OSError: the folder is not writable.
            AerologError: a need cannot be looked up.
        """
        with step_lock(self.archive_dir, self.files):
            yield self.against(removal)
