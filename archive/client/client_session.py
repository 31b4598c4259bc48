"""A control session: its requests under way, their answers, and the archive's signals and errors.

Time is read from the given clock. Nothing in this module waits, so blocking and asyncio clients
share it (spec archive-protocol 21.3 and 21.4).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from aerolog.archive.client.recording_signals import SignalQueue
from aerolog.archive.protocol import (
    CloseSessionRequest,
    ControlResponse,
    ControlResponseCode,
    RecordingDescriptor,
    RecordingSignalEvent,
    RecordingSubscriptionDescriptor,
)
from aerolog.archive.protocol.request_channels import request_channels
from aerolog.transport.config.values import format_duration
from aerolog.transport.errors import (
    AerologError,
    AeronTimeoutError,
    ArchiveError,
    BackPressuredError,
    NotConnectedError,
    ReentrantCallError,
    ResourceClosedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.client.control_stream import ControlStream
    from aerolog.archive.client.options import ArchiveClientOptions
    from aerolog.archive.client.request import Request
    from aerolog.archive.protocol import Message

T = TypeVar("T")
ERROR_LIMIT: Final = 64
IN_FLIGHT_LIMIT: Final = 32  # unanswered requests: they and their answers fit into the logs
ENDS_OF_LISTING: Final = frozenset(
    {ControlResponseCode.RECORDING_UNKNOWN, ControlResponseCode.SUBSCRIPTION_UNKNOWN}
)


def refusal_text(correlation_id: int, text: str) -> str:
    """The message of a refused request's error, with the text that the archive sent."""
    return f"response for correlationId={correlation_id}, error: {text}"


@dataclass(slots=True)
class ArchiveClientStats:
    """Counts since the client was made, which a reconnect does not reset.

    A round trip lasts from the moment a request is in the log to the moment the client reads its
    last answer, so it includes the client's waits between two polls of its responses.

    Attributes:
        requests: requests sent.
        answers: requests that ended in a result or in an error from the archive.
        refused: requests that ended in an error from the archive; ``answers`` counts them too.
        timeouts: requests that had no answer within the message timeout.
        signals: recording signals received.
        sessions: sessions connected, the first one included.
        round_trip_last_ns: the round trip of the last answer.
        round_trip_min_ns: the shortest round trip, 0 before the first answer.
        round_trip_max_ns: the longest round trip, 0 before the first answer.
        round_trip_total_ns: the sum of all round trips.
    """

    requests: int = 0
    answers: int = 0
    refused: int = 0
    timeouts: int = 0
    signals: int = 0
    sessions: int = 0
    round_trip_last_ns: int = 0
    round_trip_min_ns: int = 0
    round_trip_max_ns: int = 0
    round_trip_total_ns: int = 0

    @property
    def round_trip_mean_ns(self) -> float:
        """The mean round trip of the answers so far, 0 before the first."""
        return self.round_trip_total_ns / self.answers if self.answers else 0.0

    def on_answer(self, round_trip_ns: int, *, refused: bool) -> None:
        """Count an answer and its round trip."""
        first = self.answers == 0
        self.answers += 1
        self.refused += refused
        self.round_trip_last_ns = round_trip_ns
        self.round_trip_total_ns += round_trip_ns
        self.round_trip_max_ns = max(self.round_trip_max_ns, round_trip_ns)
        if first or round_trip_ns < self.round_trip_min_ns:
            self.round_trip_min_ns = round_trip_ns


class PendingRequest(Generic[T]):
    """A request under way: unsent, sent, then done with a result or an error.

    Attributes:
        request: the request and the way to read its answer.
        message: the encoded request.
        correlation_id: the id that the request and its answer carry.
        tries: how often the request was offered and not taken.
        sent_ns: when it was sent, None before.
        deadline_ns: when it times out, set when it is sent.
        done: whether there is a result or an error.
        found: the descriptors that a listing has received so far.
    """

    def __init__(self, request: Request[T], message: bytes, correlation_id: int) -> None:
        self.request = request
        self.message = message
        self.correlation_id = correlation_id
        self.tries = 0
        self.sent_ns: int | None = None
        self.deadline_ns = 0
        self.done = False
        self.found: list[Message] = []
        self._result: T | None = None
        self._error: BaseException | None = None

    def mark_sent(self, now_ns: int, timeout_ns: int) -> None:
        """Take note that the request was sent at ``now_ns``; its time runs from then."""
        self.sent_ns = now_ns
        self.deadline_ns = now_ns + timeout_ns

    def finish(self, answer: Any) -> None:
        """Turn an answer into the result."""
        self._result = self.request.result(answer)
        self.done = True

    def forgive(self) -> None:
        """End without an error: the refusal that came counts as a result of this request."""
        self._result = self.request.forgiven_result
        self.done = True

    def fail(self, error: BaseException) -> None:
        """End with an error."""
        self._error = error
        self.done = True

    def result(self) -> T:
        """The result; raises the error that the request ended in, once.

        The error is given up before it is raised. Its traceback refers to this request and to the
        session, which would otherwise keep their logs mapped until the garbage collector runs.
        """
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error
        return self._result  # type: ignore[return-value]  # done without an error: set


class ControlSession:
    """One client's session with an archive.

    Requests are sent in the order in which they begin. Several may be unanswered at once, but only
    one listing, as an archive takes no more.

    Args:
        stream: to and from the archive.
        options: of the client.
        control_session_id: the id that the archive gave to the session.
        archive_id: the archive's own id, -1 when it is too old to tell.
        check_channel: called with each channel that a request asks the archive to use.

    Attributes:
        control_session_id: the id that the archive gave to the session.
        archive_id: the archive's own id, -1 when it is too old to tell.
        disconnected: whether the archive's responses stopped coming; the session does not recover.
        closed: whether this side has ended the session.
        signals: the recording signals that were not taken yet, and their handlers.
        stats: the counts of requests, answers and round trips.
    """

    def __init__(
        self,
        stream: ControlStream,
        options: ArchiveClientOptions,
        control_session_id: int,
        archive_id: int,
        check_channel: Callable[[str], None] | None = None,
    ) -> None:
        self.stream = stream
        self.options = options
        self.control_session_id = control_session_id
        self.archive_id = archive_id
        self._check_channel = check_channel
        self.disconnected = False
        self.closed = False
        self.last_correlation_id = -1
        self.signals = SignalQueue()
        self.stats = ArchiveClientStats()
        self._clock = options.clock
        self._unsent: deque[PendingRequest[Any]] = deque()
        self._sent: dict[int, PendingRequest[Any]] = {}
        self._errors: deque[ArchiveError] = deque(maxlen=ERROR_LIMIT)
        self._in_callback = False

    def inherit(self, previous: ControlSession) -> None:
        """Take over the signals, handlers and counts of the session before this one."""
        self.signals = previous.signals
        self.stats = previous.stats
        self._errors = previous._errors

    def begin(
        self, request: Request[T], correlation_id: int, *, sent: bool = False
    ) -> PendingRequest[T]:
        """Note a request; `pump` sends it and finds its answer.

        Args:
            request: the request to send.
            correlation_id: an id that no other request of the client has.
            sent: whether the caller sends the request on another stream than the session's own.

        Raises:
            ResourceClosedError: the session is closed, or was found to be disconnected.
            ReentrantCallError: called from a signal handler.
            ChannelUriError: it has a channel with an unknown parameter, and the client is strict.
        """
        self._check_callback()
        if self.closed:
            raise ResourceClosedError("client is closed")
        if self.disconnected:
            raise ResourceClosedError("client is closed: the archive has disconnected")
        message = request.message(self.control_session_id, correlation_id)
        if self._check_channel is not None:
            for channel in request_channels(message):
                self._check_channel(channel)
        pending = PendingRequest(request, message.encode(), correlation_id)
        if sent:
            self._on_sent(pending)
        else:
            self._unsent.append(pending)
        self.last_correlation_id = correlation_id
        return pending

    def forget(self, pending: PendingRequest[Any]) -> None:
        """Drop a request that nobody waits for any more; its answer will be ignored."""
        if self._sent.pop(pending.correlation_id, None) is None and pending in self._unsent:
            self._unsent.remove(pending)

    def pump(self) -> int:
        """Send new requests, read what has come, and end overdue requests; the work done.

        Raises:
            ReentrantCallError: called from a signal handler.
        """
        self._check_callback()
        work = self._send_next() if self._unsent else 0
        messages = self.stream.poll()
        for message in messages:
            self._dispatch(message)
        if not messages and not self.stream.is_connected:
            self._disconnect()
        elif self._sent:
            self._expire()
        return work + len(messages)

    def take_error(self, correlation_id: int | None = None) -> ArchiveError | None:
        """The oldest error response that came when no request waited for it.

        Args:
            correlation_id: only an error of this request, which was answered before: a replay may
                still fail later on.
        """
        for error in self._errors:
            if correlation_id in {None, error.correlation_id}:
                self._errors.remove(error)
                return error
        return None

    def close(self) -> None:
        """Tell the archive, without waiting, that the session ends, and close the streams."""
        if self.closed:
            return
        self.closed = True
        self._fail_all(ResourceClosedError("client is closed"))
        publication = self.stream.publication
        if not publication.closed and publication.is_connected:
            publication.offer(
                CloseSessionRequest(control_session_id=self.control_session_id).encode()
            )
        self.stream.close()

    def _check_callback(self) -> None:
        if self._in_callback:
            raise ReentrantCallError("reentrant calls not permitted during callbacks")

    # -- sending ---------------------------------------------------------------------------------

    def _send_next(self) -> int:
        """Send requests in order while limits allow; the number that left the queue."""
        left = 0
        while self._unsent and len(self._sent) < IN_FLIGHT_LIMIT:
            pending = self._unsent[0]
            if pending.request.listing is not None and self._is_listing():
                break
            if not self._try_to_send(pending):
                break
            left += 1
        return left

    def _is_listing(self) -> bool:
        return any(pending.request.listing is not None for pending in self._sent.values())

    def _try_to_send(self, pending: PendingRequest[Any]) -> bool:
        """Whether a request left the queue, sent or failed."""
        try:
            if self.stream.offer(pending.message):
                self._unsent.popleft()
                self._on_sent(pending)
                return True
        except AerologError as error:
            self._end(pending, error)
            return True
        pending.tries += 1
        if pending.tries < self.options.message_retry_attempts:
            return False
        self._end(pending, BackPressuredError(f"failed to send {pending.request.what} request"))
        return True

    def _on_sent(self, pending: PendingRequest[Any]) -> None:
        pending.mark_sent(self._clock.now_ns(), self.options.message_timeout_ns)
        self._sent[pending.correlation_id] = pending
        self.stats.requests += 1

    # -- what comes ------------------------------------------------------------------------------

    def _dispatch(self, message: Message) -> None:
        if getattr(message, "control_session_id", None) != self.control_session_id:
            return
        if isinstance(message, ControlResponse):
            self._on_response(message)
        elif isinstance(message, RecordingSignalEvent):
            self._on_signal(message)
        elif isinstance(message, RecordingDescriptor | RecordingSubscriptionDescriptor):
            self._on_descriptor(message)

    def _on_response(self, response: ControlResponse) -> None:
        pending = self._sent.get(response.correlation_id)
        if pending is None:
            if response.code == ControlResponseCode.ERROR:
                self._on_stray_error(response)
        elif response.code == ControlResponseCode.ERROR:
            self._on_error(pending, response)
        elif pending.request.listing is not None and response.code in ENDS_OF_LISTING:
            self._finish(pending, pending.found)
        elif response.code == ControlResponseCode.OK and pending.request.listing is None:
            whole = pending.request.takes_response
            self._finish(pending, response if whole else response.relevant_id)
        else:
            text = f"unexpected response code: {response.code.name}"
            self._refuse(pending, ArchiveError(0, text, response.correlation_id))

    def _on_error(self, pending: PendingRequest[Any], response: ControlResponse) -> None:
        if (
            pending.request.forgiven is not None
            and response.relevant_id == pending.request.forgiven
        ):
            self._count(pending, refused=False)
            self.forget(pending)
            pending.forgive()
            return
        text = refusal_text(response.correlation_id, response.error_message)
        self._refuse(pending, ArchiveError(response.relevant_id, text, response.correlation_id))

    def _on_stray_error(self, response: ControlResponse) -> None:
        error = ArchiveError(response.relevant_id, response.error_message, response.correlation_id)
        if self.options.on_error is not None:
            self.stream.report(error)
        else:
            self._errors.append(error)

    def _on_descriptor(
        self, message: RecordingDescriptor | RecordingSubscriptionDescriptor
    ) -> None:
        pending = self._sent.get(message.correlation_id)
        if pending is None or pending.request.listing is None:
            return
        pending.found.append(message)
        pending.deadline_ns = self._clock.now_ns() + self.options.message_timeout_ns
        if len(pending.found) == pending.request.listing:
            self._finish(pending, pending.found)

    def _on_signal(self, signal: RecordingSignalEvent) -> None:
        self.stats.signals += 1
        self.signals.put(signal)
        consumers = self.signals.handlers_of(signal)
        if self.options.on_signal is not None:
            consumers.insert(0, self.options.on_signal)
        for consumer in consumers:
            self._in_callback = True
            try:
                consumer(signal)
            except Exception as error:  # noqa: BLE001 - a handler's defect ends no request
                self.stream.report(error)
            finally:
                self._in_callback = False

    # -- ends of requests ------------------------------------------------------------------------

    def _count(self, pending: PendingRequest[Any], *, refused: bool) -> None:
        if pending.sent_ns is not None:
            self.stats.on_answer(self._clock.now_ns() - pending.sent_ns, refused=refused)

    def _finish(self, pending: PendingRequest[Any], answer: Any) -> None:
        self._count(pending, refused=False)
        self.forget(pending)
        pending.finish(answer)

    def _refuse(self, pending: PendingRequest[Any], error: ArchiveError) -> None:
        self._count(pending, refused=True)
        self._end(pending, error)

    def _end(self, pending: PendingRequest[Any], error: BaseException) -> None:
        self.forget(pending)
        pending.fail(error)

    def _expire(self) -> None:
        now_ns = self._clock.now_ns()
        for pending in list(self._sent.values()):
            if now_ns - pending.deadline_ns > 0:
                self.stats.timeouts += 1
                self._end(
                    pending,
                    AeronTimeoutError(
                        f"awaiting {pending.request.awaits} - "
                        f"correlationId={pending.correlation_id} "
                        f"messageTimeout={format_duration(self.options.message_timeout_ns)}"
                    ),
                )

    def _disconnect(self) -> None:
        if self.closed or self.disconnected:
            return
        self.disconnected = True
        subscription = self.stream.subscription
        self._fail_all(
            NotConnectedError(
                "response channel from archive is not connected, "
                f"channel={subscription.channel}, streamId={subscription.stream_id}, "
                f"imageCount={0 if subscription.closed else len(subscription.images)}"
            )
        )

    def _fail_all(self, error: BaseException) -> None:
        for pending in [*self._sent.values(), *self._unsent]:
            self._end(pending, error)
