"""What happens unasked: recording signals and stray errors (spec archive-protocol 16, 21.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client.caller import Parts, series
from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.archive.client.recording_signals import SignalFilter, SignalHandler

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client.recording_signals import SignalKinds
    from aerolog.archive.protocol import RecordingSignalEvent


class HappeningOperations(ArchiveClientBase):
    """Take in what the archive sends when nobody asked; `poll` and the like never wait."""

    def poll(self) -> int:
        """Take in what has come: signals for handlers and `signals`, errors; the work done."""
        with self.conversation.lock:
            self.conversation.turn()
            return self.conversation.pump()

    def poll_signals(
        self,
        *,
        recording_id: int | None = None,
        correlation_id: int | None = None,
        kinds: SignalKinds | None = None,
    ) -> list[RecordingSignalEvent]:
        """The recording signals of this session that came and were not taken yet.

        Args:
            recording_id: only of this recording; others stay for whoever wants them.
            correlation_id: only of what this request began.
            kinds: only of this kind, or of these.
        """
        wanted = SignalFilter.of(recording_id, correlation_id, kinds)
        with self.conversation.lock:
            self.poll()
            return self.conversation.usable().signals.take_all(wanted)

    @series
    def signals(
        self,
        timeout: float | None = None,
        *,
        recording_id: int | None = None,
        correlation_id: int | None = None,
        kinds: SignalKinds | None = None,
    ) -> Parts[RecordingSignalEvent]:
        """Recording signals of this session as they come, until the archive is gone.

        Args:
            timeout: seconds without a wanted one after which the iteration ends.
            recording_id: only of this recording; others stay for whoever wants them.
            correlation_id: only of what this request began.
            kinds: only of this kind, or of these.
        """
        wanted = SignalFilter.of(recording_id, correlation_id, kinds)
        deadline = self.conversation.deadline_ns(timeout)
        looked_at = -1
        while True:
            session = self.conversation.usable()
            if looked_at != session.signals.received:
                signal = session.signals.take(wanted)
                if signal is not None:
                    yield [signal]
                    deadline = self.conversation.deadline_ns(timeout)
                    continue
                looked_at = session.signals.received
            work = session.pump()
            if not work:
                if session.disconnected or self.conversation.is_late(deadline):
                    return
                yield 0

    def add_signal_handler(
        self,
        consumer: Callable[[RecordingSignalEvent], object],
        *,
        recording_id: int | None = None,
        correlation_id: int | None = None,
        kinds: SignalKinds | None = None,
    ) -> SignalHandler:
        """Call a function with each wanted signal from now on, also after a reconnect.

        It is called in the thread that happens to take the signal in: in any operation, or in
        `poll`. It may not call the client. Signals are there for `signals` all the same.

        Args:
            consumer: the function.
            recording_id: only of this recording.
            correlation_id: only of what this request began.
            kinds: only of this kind, or of these.

        Returns:
            The handler; closing it ends the calls.
        """
        wanted = SignalFilter.of(recording_id, correlation_id, kinds)
        with self.conversation.lock:
            return self.conversation.known().signals.add_handler(consumer, wanted)

    def poll_for_error(self) -> str | None:
        """The text of an error response that belonged to no request, None without one."""
        with self.conversation.lock:
            session = self.conversation.usable()
            self.poll()
            if session.disconnected:
                return "not connected"
            error = session.take_error()
            return None if error is None else error.message

    def check_for_error(self) -> None:
        """Raise the oldest error response that belonged to no request."""
        with self.conversation.lock:
            self.poll()
            error = self.conversation.usable().take_error()
        if error is not None:
            raise error
