"""Requests that change what is stored (spec archive-protocol 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive import protocol as ap
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.control_session import ControlSession
    from aerolog.archive.service.deletions import Deletions
    from aerolog.archive.service.recordings import Recordings
    from aerolog.archive.service.replays import Replays


class Storage:
    """Truncates, purges, detaches, attaches and migrates.

    Args:
        context: the archive's surroundings.
        recordings: those that are active.
        replays: those that are active.
        deletions: those under way.
    """

    def __init__(
        self,
        context: ArchiveContext,
        recordings: Recordings,
        replays: Replays,
        deletions: Deletions,
    ) -> None:
        self._context = context
        self._recordings = recordings
        self._replays = replays
        self._deletions = deletions

    def handlers(self) -> dict[type[ap.Message], Callable[[ControlSession, Any], int | None]]:
        """What carries each of the requests out."""
        return {}
