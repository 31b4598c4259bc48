"""What the blocking and the asyncio archive client have in common: a client and a session."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.client.connecting import ArchiveConnection
from aerolog.archive.client.options import NS_PER_SECOND, ArchiveClientOptions
from aerolog.archive.client.recording_pos import RecordingPosition, find_by_recording
from aerolog.archive.protocol import REPLAY_ALL_AND_FOLLOW, REPLAY_ALL_AND_STOP
from aerolog.transport.client import Aeron, ChannelStatus
from aerolog.transport.errors import AerologError, AeronTimeoutError, ResourceClosedError
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from aerolog.archive.client.session import ControlSession
    from aerolog.transport.client.publication import ExclusivePublication, Publication
    from aerolog.transport.client.subscription import Subscription

PAGE: Final = 256


def replay_length(length: int | None, *, follow: bool) -> int:
    """The length that a replay request carries."""
    if length is not None:
        return length
    return REPLAY_ALL_AND_FOLLOW if follow else REPLAY_ALL_AND_STOP


class ArchiveClientBase:
    """A client with at most one session.

    Attributes:
        aeron: the transport client in use.
        options: as checked at connect.
    """

    def __init__(self, aeron: Aeron | None, aeron_dir: str | None, options: dict[str, Any]) -> None:
        self.options = ArchiveClientOptions.of(**options)
        self._owns_aeron = aeron is None
        self.aeron = (
            Aeron(aeron_dir, name=self.options.name or "archive-client") if aeron is None else aeron
        )
        self._session: ControlSession | None = None

    @property
    def control_session_id(self) -> int:
        """The archive's id of this session."""
        return self._usable().control_session_id

    @property
    def archive_id(self) -> int:
        """The archive's own id, -1 when it is too old to tell."""
        return self._usable().archive_id

    @property
    def last_correlation_id(self) -> int:
        """Correlation id of the last request: signals and errors of it carry the same."""
        return self._usable().last_correlation_id

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._session is None or self._session.closed

    @property
    def is_disconnected(self) -> bool:
        """Whether the archive was found to be gone; connect anew."""
        return self._session is not None and self._session.disconnected

    def recording_position_counter(self, recording_id: int) -> RecordingPosition | None:
        """The counter that tells how far an active recording is, None when it is not active."""
        archive_id = self._usable().archive_id
        counters = self.aeron.counters
        counter_id = find_by_recording(counters, recording_id, archive_id)
        if counter_id is None or counter_id not in counters:
            return None
        return RecordingPosition(counters[counter_id], recording_id)

    def _connection(self) -> ArchiveConnection:
        return ArchiveConnection(self.aeron, self.options)

    def _usable(self) -> ControlSession:
        if self._session is None or self._session.closed:
            raise ResourceClosedError("client is closed")
        return self._session

    def _turn(self) -> None:
        """Turn a transport client that has no thread of its own."""
        if self.aeron.options.invoker:
            self.aeron.do_work()

    def _deadline_ns(self, timeout: float | None) -> int | None:
        if timeout is None:
            return None
        return self.options.clock.now_ns() + round(timeout * NS_PER_SECOND)

    def _is_late(self, deadline_ns: int | None) -> bool:
        return deadline_ns is not None and self.options.clock.now_ns() > deadline_ns

    def _check_resolving(self, subscription: Subscription, deadline_ns: int | None) -> None:
        """Raise what keeps the port of a subscription from being known.

        Raises:
            AerologError: the driver could not open the channel.
            AeronTimeoutError: it has not opened it in time.
        """
        status = subscription.channel_status
        if status is ChannelStatus.ERRORED:
            raise AerologError(f"the driver could not open {subscription.channel}")
        if self._is_late(deadline_ns):
            raise AeronTimeoutError(
                f"the driver does not say which port {subscription.channel} has"
            )

    def _stray_error_text(self) -> str | None:
        session = self._usable()
        if session.disconnected:
            return "not connected"
        error = session.take_error()
        return None if error is None else error.message

    def _raise_stray_error(self) -> None:
        error = self._usable().take_error()
        if error is not None:
            raise error

    def _check_complete(
        self, recording_id: int, correlation_id: int, reached: int, wanted: int
    ) -> None:
        """Raise why a replay ended early, when it did."""
        if reached >= wanted:
            return
        error = self._usable().take_error(correlation_id)
        raise error or AeronTimeoutError(
            f"replay of recording {recording_id} ended at {reached}, before {wanted}"
        )

    def _recorded_channel(self, publication: Publication | ExclusivePublication) -> str:
        """The channel that records one publication's session and no other."""
        return str(ChannelUri.parse(publication.channel).add_session_id(publication.session_id))

    def _check_original(self, publication: Publication) -> str:
        if not publication.is_original:
            publication.close()
            raise AerologError(
                f"publication already added for channel={publication.channel} "
                f"streamId={publication.stream_id}"
            )
        return self._recorded_channel(publication)

    def _release(self) -> None:
        if self.aeron.conductor.forked:  # the session is the parent's
            return
        if self._session is not None:
            self._session.close()
        if self._owns_aeron:
            self.aeron.close()

    def __del__(self) -> None:
        session = getattr(self, "_session", None)
        if session is not None and not session.closed and not self.aeron.conductor.forked:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
            self._release()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            f"{type(self).__name__} cannot be pickled: connect anew in the other process"
        )

    def __repr__(self) -> str:
        state = "closed" if self.closed else "disconnected" if self.is_disconnected else "connected"
        return f"<{type(self).__name__} {self.options.request_channel} {state}>"
