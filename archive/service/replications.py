"""Replications: recordings of other archives, copied (spec archive-protocol 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive import protocol as ap
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.control_session import ControlSession
    from aerolog.archive.service.recordings import Recordings


class Replications:
    """All replications under way.

    Args:
        context: the archive's surroundings.
        recordings: those that are active.
        next_session_id: gives an id that no session of the archive has.
    """

    def __init__(
        self,
        context: ArchiveContext,
        recordings: Recordings,
        next_session_id: Callable[[], int],
    ) -> None:
        self._context = context
        self._recordings = recordings
        self._next_session_id = next_session_id

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that only a turn can bring on."""
        return False

    def handlers(self) -> dict[type[ap.Message], Callable[[ControlSession, Any], int | None]]:
        """What carries each of the requests out."""
        return {}

    def do_work(self, _now_ns: int, _now_ms: int) -> int:
        """Turn every replication."""
        return 0

    def close(self) -> None:
        """End every replication."""
