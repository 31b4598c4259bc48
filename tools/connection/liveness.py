"""Notices that the driver or the archive behind a command is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.errors import NotConnectedError, ResourceClosedError

if TYPE_CHECKING:
    from aerolog.archive.client import AeronArchive
    from aerolog.transport.client import Aeron


class Watch:
    """Called in every loop of a command that waits for messages or for the archive.

    It also takes in what the archive sends, unless somebody else hears its errors: an archive
    closes the session of a client that does not read.
    """

    def __init__(
        self, aeron: Aeron, archive: AeronArchive | None = None, *, hears_errors: bool = True
    ) -> None:
        self._aeron = aeron
        self._archive = archive
        self._hears_errors = hears_errors

    def __call__(self) -> None:
        """Returns while all is well.

        Raises:
            AeronTimeoutError: the driver is gone.
            NotConnectedError: the archive is gone.
            ArchiveError: the archive has reported an error that nobody was waiting for.
        """
        if self._aeron.closed:
            raise self._aeron.close_reason or ResourceClosedError("the client is closed")
        if self._archive is not None:
            if self._hears_errors:
                self._archive.check_for_error()
            if self._archive.is_disconnected:
                raise NotConnectedError("the archive is gone: its control stream has ended")
