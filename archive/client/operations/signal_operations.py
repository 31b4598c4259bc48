"""Recording signals, and errors that belong to no request (spec archive-protocol 16, 21.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.client.client_base import ArchiveClientBase
from aerolog.archive.client.recording_signals import SignalFilter, SignalHandler
from aerolog.transport.client.steps.caller import Parts, series

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client.recording_signals import SignalKinds
    from aerolog.archive.protocol import RecordingSignalEvent


class HappeningOperations(ArchiveClientBase):
    """Read the signals and errors that an archive sends on its own; only `signals` waits."""

    def poll(self) -> int:
        """Read the signals and errors that have come and call the handlers; the work done."""
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
        """Take the recording signals of this session that have come and were not taken yet.

        Args:
            recording_id: take only signals of this recording; the others stay in the queue.
            correlation_id: take only signals of what this request began.
            kinds: take only signals of this kind, or of these kinds.
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

        The arguments are those of `poll_signals`, and ``timeout``: the seconds without a wanted
        signal after which the iteration ends.
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

        It is called in the thread that reads the signal, from any operation or from `poll`, and may
        not call the client. `signals` gives the same signals again. The signals that are wanted
        are chosen as those of `poll_signals`.

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
            try:
                raise error
            finally:
                del error  # its traceback refers to this frame
