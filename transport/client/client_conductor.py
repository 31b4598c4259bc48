"""The client's conductor: sends commands, acts on the driver's messages, keeps the resources.

Any thread may enter it, one at a time, under ``lock``: the client's own thread when a message has
come, and callers of the API, which handle messages themselves while they wait (spec client 4 to 7).
Handlers run under the lock and so may not call the client.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from aerolog.transport.client import liveness
from aerolog.transport.client.client_events import ClientClosed, ErrorRaised, Event, EventStream
from aerolog.transport.client.driver_listener import DriverListener
from aerolog.transport.client.log_table import LogTable
from aerolog.transport.client.options import LOG, log_change
from aerolog.transport.client.registration import Pending, RegistrationFuture, ResourceKind
from aerolog.transport.client.steps.stream_steps import until
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import (
    AerologError,
    BroadcastLappedError,
    ClientTimeoutError,
    ConductorServiceTimeoutError,
    DriverTimeoutError,
    ReentrantCallError,
    ResourceClosedError,
)
from aerolog.transport.protocol import commands
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S
from aerolog.transport.uri.known_keys import check_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.client.connection import DriverConnection
    from aerolog.transport.client.options import ClientOptions
    from aerolog.transport.client.publication import BasePublication
    from aerolog.transport.client.subscription import Subscription

_T = TypeVar("_T")
_WAIT_SLICE_NS = NS_PER_MS


class ClientConductor:
    """State of one client. Its public methods take the lock themselves.

    Attributes:
        close_reason: what ended the client; None while it lives and after a plain close.
    """

    def __init__(self, options: ClientOptions, connection: DriverConnection) -> None:
        self.options = options
        self.connection = connection
        self.client_id = connection.client_id
        self.liveness = connection.liveness
        self.counters = connection.counters
        self.lock = threading.RLock()
        self.logs = LogTable(options.file_system, pre_touch=options.pre_touch)
        self.closed = False
        self.close_reason: BaseException | None = None
        self.publications: weakref.WeakValueDictionary[int, BasePublication]
        self.publications = weakref.WeakValueDictionary()
        self.subscriptions: weakref.WeakValueDictionary[int, Subscription]
        self.subscriptions = weakref.WeakValueDictionary()
        self.own_counters: weakref.WeakValueDictionary[int, Counter]
        self.own_counters = weakref.WeakValueDictionary()
        self.pending: dict[int, Pending] = {}
        self.close_handlers: list[Callable[[], object]] = []
        self.counter_handlers: list[Callable[..., object]] = []
        self.counter_gone_handlers: list[Callable[..., object]] = []
        self._listener = DriverListener(self)
        self._event_streams: tuple[weakref.ref[EventStream], ...] = ()
        self._dropped: deque[Callable[[], object]] = deque()
        self._unsent: deque[commands.Command] = deque()
        self._callback_thread = 0
        self._serving_thread = 0
        self._terminating = False
        self._interrupt: BaseException | None = None  # in a handler, while the client ends
        self._fork_generation = liveness.current_fork_generation()
        self._client: weakref.ref[object] | None = None
        if options.on_close is not None:
            self.close_handlers.append(options.on_close)
        if options.on_counter is not None:
            self.counter_handlers.append(options.on_counter)
        if options.on_counter_gone is not None:
            self.counter_gone_handlers.append(options.on_counter_gone)
        LOG.debug("client %d: connected to the driver in %s", self.client_id, options.aeron_dir)

    # -- what callers may do ---------------------------------------------------------------------

    def attach(self, client: object) -> None:
        """Set the object that represents this client to users; resources keep it alive."""
        self._client = weakref.ref(client)

    def client(self) -> object | None:
        """Return the object that represents this client, if it still exists."""
        return None if self._client is None else self._client()

    def ensure_usable(self) -> None:
        """Raise when the client is closed, forked, or called from one of its handlers.

        Raises:
            ResourceClosedError: the program closed the client, or the process was forked after it.
            AeronTimeoutError: the client ended because the driver or this process was too slow.
            ReentrantCallError: a handler of the client made the call.
        """
        if self.forked:
            raise ResourceClosedError(
                "this client belongs to the parent process: connect a new one after a fork"
            )
        if self.closed or self._terminating:
            self._raise_closed()
        if self._callback_thread == threading.get_ident():
            raise ReentrantCallError(
                "a handler of the client may not call add, remove or close: note what to do and "
                "do it after the handler, or read aeron.events()"
            )

    def _raise_closed(self) -> NoReturn:
        self.raise_close_reason()
        raise ResourceClosedError("the Aeron client is closed")

    def raise_close_reason(self) -> None:
        """Raise what ended the client; nothing while it lives and after a plain close."""
        if self.close_reason is not None:
            raise type(self.close_reason)(*self.close_reason.args) from self.close_reason

    @property
    def forked(self) -> bool:
        """Whether this process is a child of the one that connected."""
        return self._fork_generation != liveness.current_fork_generation()

    def next_correlation_id(self) -> int:
        """An id that no other client of this driver has been given."""
        if self.closed:
            self._raise_closed()
        return self.connection.ring.next_correlation_id()

    def send(self, command: commands.Command) -> None:
        """Give a command to the driver.

        Raises:
            AerologError: if the command buffer is full; nothing was sent.
        """
        if not self.connection.ring.write(command.TYPE_ID, commands.encode_command(command)):
            raise AerologError(
                f"failed to write {type(command).__name__} command: the driver's command buffer "
                f"has no room; is the driver running, and keeping up?"
            )
        if self.options.driver_bell is not None:
            self.options.driver_bell()

    def check_keys(self, channel: str) -> None:
        """Report unknown parameters of a channel, or refuse them when the client is strict.

        Raises:
            ChannelUriError: a parameter is unknown, and the client is strict.
        """
        check_keys(channel, strict=self.options.strict, write=LOG.warning)

    def submit(
        self,
        kind: ResourceKind,
        command: Callable[[int], commands.Command],
        complete: Callable[[Any], _T],
    ) -> RegistrationFuture[_T]:
        """Send a command without waiting for its answer.

        Args:
            kind: the kind of resource or result that the command requests.
            command: makes the command from its correlation id.
            complete: makes the result from the answer.
        """
        if self.forked:  # then whoever held the lock at the fork holds it in the child for ever
            self.ensure_usable()
        with self.lock:
            self.ensure_usable()
            future: RegistrationFuture[_T]
            number = self.connection.ring.next_correlation_id()
            future = RegistrationFuture(number, self, self.client())
            pending = Pending(kind, future, complete)
            self.pending[future.registration_id] = pending
            try:
                self.send(command(future.registration_id))
            except BaseException:
                del self.pending[future.registration_id]
                raise
            return future

    def call(
        self,
        kind: ResourceKind,
        command: Callable[[int], commands.Command],
        complete: Callable[[Any], _T],
        timeout: float | None = None,
    ) -> _T:
        """Send a command and wait for its result.

        Raises:
            RegistrationError: the driver refused it.
            DriverTimeoutError: no answer within ``timeout`` seconds (None: the driver timeout).
        """
        return self.await_answer(self.submit(kind, command, complete), timeout)

    def await_answer(self, future: RegistrationFuture[_T], timeout: float | None = None) -> _T:
        """Wait for the result of a command; any error during the wait cancels the command.

        Raises:
            RegistrationError: the driver refused it.
            DriverTimeoutError: no answer within ``timeout`` seconds (None: the driver timeout).
        """
        limit = self.options.driver_timeout if timeout is None else timeout
        try:
            self.wait_for(future, limit)
        except BaseException as error:
            self.cancel(future)
            if isinstance(error, TimeoutError) and not isinstance(error, AerologError):
                raise DriverTimeoutError(
                    f"no response from MediaDriver within {limit:g}s"
                ) from None
            raise
        try:
            return future.result(0)
        finally:
            del future  # as in ``result``: no cycle keeps what the caller holds

    def wait_for(self, future: RegistrationFuture[Any], timeout: float | None) -> None:
        """Do the client's work until an answer has arrived.

        Raises:
            TimeoutError: if none arrived within ``timeout`` seconds.
        """
        if future.is_settled():
            return
        self.ensure_usable()
        deadline = Deadline(timeout, self.options.clock)
        while not future.is_settled():
            self.await_work(_WAIT_SLICE_NS)
            if deadline.is_over and not future.is_settled():
                raise TimeoutError(f"no answer to command {future.registration_id} in {timeout} s")

    def await_condition(
        self, is_met: Callable[[], bool], timeout: float | None, missing: Callable[[], str]
    ) -> None:
        """Do the client's work until a condition is met.

        Args:
            is_met: called before each wait of at most a millisecond.
            timeout: seconds; None waits for ever.
            missing: says what there is not, for the error.

        Raises:
            AeronTimeoutError: it was not met in time.
        """
        for _ in until(is_met, timeout, missing, self.options.clock):
            self.await_work(_WAIT_SLICE_NS)

    def await_work(self, wait_ns: int) -> None:
        """Wait at most ``wait_ns`` for messages and handle them; signals are handled in between."""
        if self.options.driver_invoker is not None:
            self.options.driver_invoker()
            wait_ns = 0
        self.liveness.await_message(wait_ns)
        if self.options.invoker:
            self.do_work()
        else:
            with self.lock:
                self.service()

    def turn_without_thread(self) -> None:
        """Do the work of a client without a thread once, and that of its embedded driver."""
        if self.options.invoker and self._callback_thread != threading.get_ident():
            if self.options.driver_invoker is not None:
                self.options.driver_invoker()
            self.do_work()

    def cancel(self, future: RegistrationFuture[Any]) -> bool:
        """Cancel a command; a resource that the driver creates nevertheless is removed again."""
        if self.forked:
            return False
        with self.lock:
            pending = self.pending.get(future.registration_id)
            if pending is None:
                return False
            pending.abandoned = True
            return future.cancel_now()

    def is_command_active(self, correlation_id: int) -> bool:
        """Whether a command still waits for its answer; False on a closed client."""
        if self.closed or self.forked:
            return False
        with self.lock:
            self.service()
            return correlation_id in self.pending

    def has_active_commands(self) -> bool:
        """Whether any command still waits for its answer; False on a closed client."""
        return not self.closed and bool(self.pending)

    # -- the duty cycle --------------------------------------------------------------------------

    def do_work(self) -> int:
        """Do the work of a client without a thread once; returns a work count."""
        with self.lock:
            if self.closed or self.forked:
                return 0
            code = self.liveness.service()
            if code < 0:
                self.end_for(code)
                return 1
            return self.service()

    def run(self) -> None:
        """Body of the client's thread."""
        try:
            self._turn()
        except BaseException as error:  # noqa: BLE001 - a thread ends by SystemExit without a word
            with self.lock:
                self._end_by(error)

    def _turn(self) -> None:
        """Stay in native code until there is something to do."""
        idle_ns = self.options.idle_sleep_ns
        while True:
            code = self.liveness.wait(idle_ns)
            if code == liveness.STOPPED:
                return
            # Whoever holds the lock is working in here already; look again after a sleep.
            if code == liveness.MESSAGE and not self.lock.acquire(blocking=False):
                continue
            if code < 0:
                self.lock.acquire()
            try:
                if code < 0:
                    self.end_for(code)
                else:
                    self.service()
            except Exception as error:  # noqa: BLE001 - the thread must outlive a defect in here
                self.report(error)
            finally:
                self.lock.release()

    def service(self) -> int:
        """Handle all messages that have arrived; the caller holds the lock."""
        thread = threading.get_ident()
        if self.closed or thread in {self._serving_thread, self._callback_thread}:
            return 0
        self._serving_thread = thread
        receiver = self.connection.receiver
        work = 0
        try:
            work += self._drain_dropped()
            while (message := receiver.receive_next()) is not None:
                work += 1
                self._listener.take(*message)
                if self.closed:
                    break
        except BroadcastLappedError:
            self.terminate(BroadcastLappedError("unable to keep up with broadcast"))
        finally:
            self._serving_thread = 0
        return work

    def _drain_dropped(self) -> int:
        work = 0
        while self._unsent:
            try:
                self.send(self._unsent[0])
            except AerologError:
                break
            self._unsent.popleft()
            work += 1
        while self._dropped:
            self._dropped.popleft()()
            work += 1
        return work

    def end_for(self, code: int) -> None:
        """End the client for a code of its liveness check; the caller holds the lock."""
        watch, folder = self.liveness, self.options.aeron_dir
        if code == liveness.SERVICE_INTERVAL_EXCEEDED:
            reason: BaseException = ConductorServiceTimeoutError(
                f"the client of {folder} was not serviced for"
                f" {watch.service_gap_ns / NS_PER_S:.3f} s, more than the"
                f" {watch.inter_service_timeout_ns / NS_PER_S:.3f} s after which the driver gives"
                " a client up: connect a new one"
            )
        elif code == liveness.DRIVER_SHUT_DOWN:
            reason = DriverTimeoutError(
                f"the media driver in {folder} was shut down: start one and connect a new client"
            )
        elif code == liveness.DRIVER_SILENT:
            reason = DriverTimeoutError(
                f"the media driver in {folder} is gone: its last heartbeat is"
                f" {watch.driver_age_ms} ms old, the driver timeout {watch.driver_timeout_ms} ms:"
                " start a driver and connect a new client"
            )
        else:
            reason = ClientTimeoutError(
                f"the media driver in {folder} gave this client up and closed its heartbeat"
                f" counter {watch.heartbeat_counter_id}: connect a new client"
            )
        self.terminate(reason)

    # -- the end ---------------------------------------------------------------------------------

    def _end_by(self, error: BaseException) -> None:
        """End the client for what a handler raised on the client's thread to end that."""
        try:
            if not self.closed:
                reason = ResourceClosedError(
                    f"the client of {self.options.aeron_dir} has ended, since one of its handlers"
                    f" raised {type(error).__name__}: {error}: connect a new one"
                )
                reason.__cause__ = error
                try:
                    self.terminate(reason)
                finally:
                    self._say_goodbye()
                return
        except BaseException as second:  # noqa: BLE001 - the thread ends here
            error = second
        LOG.error("client %d: raised while it ended", self.client_id, exc_info=error)

    def terminate(self, reason: BaseException) -> None:
        """End the client because of an error; no command is sent. Call with the lock held."""
        if self.closed or self._terminating:
            return
        self._terminating = True
        self.close_reason = reason
        self.report(reason)
        self._shut()

    def close(self) -> None:
        """End the client at the request of the program."""
        if self.forked:
            self.closed = True
            return
        with self.lock:
            # An error handler may close a client that is ending already.
            if self.closed or self._terminating:
                return
            self.ensure_usable()
            self._terminating = True
            try:
                self._shut()
            finally:
                self._say_goodbye()

    def _say_goodbye(self) -> None:
        close = commands.ClientClose(self.client_id, self.connection.ring.next_correlation_id())
        self.connection.ring.write(close.TYPE_ID, commands.encode_command(close))

    def abandon(self) -> None:
        """Stop without closing anything, as a killed process does; simulations use this."""
        self._fork_generation = -1
        self.closed = True

    def close_dropped(self, close: Callable[[], None]) -> None:
        """Close a client that was garbage collected; later, if this thread runs the conductor."""
        if threading.get_ident() in {self._serving_thread, self._callback_thread}:
            self._release_later(close)
        else:
            close()

    def _shut(self) -> None:
        """Close every resource of the client, then run the close handlers.

        An interrupt in a handler is raised when all is closed.
        """
        for publication in list(self.publications.values()):
            publication.force_close()
        for subscription in list(self.subscriptions.values()):
            self.drop_images(subscription)
            subscription.force_close()
        for counter in list(self.own_counters.values()):
            counter.force_close()
            self._listener.counter_gone(counter.registration_id, counter.counter_id)
        self.publications.clear()
        self.subscriptions.clear()
        self.own_counters.clear()
        self.logs.clear()
        waiting, self.pending = list(self.pending.values()), {}
        reason = self.close_reason or ResourceClosedError("the Aeron client is closed")
        for pending in waiting:
            pending.fail(reason)
        for handler in list(self.close_handlers):
            self.run_handler(handler)
        self.closed = True
        self.liveness.stop()
        LOG.debug("client %d: closed%s", self.client_id, _because(self.close_reason))
        self.publish(ClientClosed(self.close_reason))
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            raise interrupt

    # -- resources -------------------------------------------------------------------------------

    def _release_later(self, release: Callable[[], object]) -> None:
        """Remove a resource that was garbage collected, at a time when the lock can be taken."""
        self._dropped.append(release)
        self.liveness.request()

    def remove(self, command: Callable[[int], commands.Command]) -> RegistrationFuture[None]:
        """Send a remove command without waiting for its answer; call with the lock held."""
        future: RegistrationFuture[None]
        future = RegistrationFuture(self.connection.ring.next_correlation_id(), self)
        self.pending[future.registration_id] = Pending(
            ResourceKind.OPERATION, future, lambda _: None
        )
        message = command(future.registration_id)
        try:
            self.send(message)
        except AerologError:
            self._unsent.append(message)
            self.liveness.request()
        return future

    def drop_images(self, subscription: Subscription) -> None:
        """Close all images of a subscription and tell its handler."""
        for image in subscription.take_images():
            self.logs.release(image.correlation_id)
            self._listener.image_gone(subscription, image)

    def close_publication(
        self, publication: BasePublication, revoke: bool
    ) -> RegistrationFuture[None] | None:
        """Close one publication object; the driver counts the others.

        Returns:
            Settled when the driver has removed it; None when there was nothing to remove.
        """
        if self.forked:
            publication.force_close()
            return None
        with self.lock:
            if publication.closed:
                return None
            self.ensure_usable()
            publication.force_close()
            log_change(self.client_id, "closed", publication)
            self.publications.pop(publication.registration_id, None)
            return self._remove_publication(
                publication.registration_id, publication.original_registration_id, revoke
            )

    def publication_dropped(self, registration_id: int, original_registration_id: int) -> None:
        """Handle the garbage collection of a publication, which may happen in any thread."""
        if not self.forked:
            self._release_later(
                lambda: self._remove_publication(registration_id, original_registration_id, False)
            )

    def _remove_publication(
        self, registration_id: int, log_id: int, revoke: bool
    ) -> RegistrationFuture[None]:
        self.logs.release(log_id)
        flags = commands.REVOKE_FLAG if revoke else 0
        return self.remove(
            lambda i: commands.RemovePublication(self.client_id, i, registration_id, flags)
        )

    def close_subscription(self, subscription: Subscription) -> RegistrationFuture[None] | None:
        """Close a subscription and its images.

        Returns:
            Settled when the driver has removed it; None when there was nothing to remove.
        """
        if self.forked:
            subscription.force_close()
            return None
        with self.lock:
            if subscription.closed:
                return None
            self.ensure_usable()
            registration_id = subscription.registration_id
            self.subscriptions.pop(registration_id, None)
            self.drop_images(subscription)
            subscription.force_close()
            log_change(self.client_id, "closed", subscription)
            return self._remove_subscription(registration_id, ())

    def subscription_dropped(self, registration_id: int, log_ids: tuple[int, ...]) -> None:
        """Handle the garbage collection of a subscription, which may happen in any thread."""
        if not self.forked:
            self._release_later(lambda: self._remove_subscription(registration_id, log_ids))

    def _remove_subscription(
        self, registration_id: int, log_ids: tuple[int, ...]
    ) -> RegistrationFuture[None]:
        for log_id in log_ids:
            self.logs.release(log_id)
        return self.remove(
            lambda i: commands.RemoveSubscription(self.client_id, i, registration_id)
        )

    def close_counter(self, counter: Counter) -> RegistrationFuture[None] | None:
        """Free a counter of this client; a static counter only becomes unusable in this client.

        Returns:
            Settled when the driver has freed it; None when there was nothing to free.
        """
        if self.forked:
            counter.force_close()
            return None
        with self.lock:
            if counter.closed:
                return None
            self.ensure_usable()
            counter.force_close()
            if self.own_counters.pop(counter.registration_id, None) is None:
                return None
            return self._remove_counter(counter.registration_id)

    def counter_dropped(self, registration_id: int) -> None:
        """Handle the garbage collection of a counter, which may happen in any thread."""
        if not self.forked:
            self._release_later(lambda: self._remove_counter(registration_id))

    def _remove_counter(self, registration_id: int) -> RegistrationFuture[None]:
        return self.remove(lambda i: commands.RemoveCounter(self.client_id, i, registration_id))

    # -- handlers and events ---------------------------------------------------------------------

    def run_handler(self, handler: Callable[..., object], *arguments: object) -> None:
        """Call a program's handler; an exception that it raises goes to the error handler."""
        previous, self._callback_thread = self._callback_thread, threading.get_ident()
        try:
            handler(*arguments)
        except Exception as error:  # noqa: BLE001 - a handler's error must not end the client
            self._callback_thread = previous
            self.report(error)
        except BaseException as error:  # noqa: BLE001 - it is raised again
            self._keep_interrupt(error)
        finally:
            self._callback_thread = previous

    def _keep_interrupt(self, error: BaseException) -> None:
        """Raise an interrupt, which is the caller's own, but not before a client has ended."""
        if not self._terminating:
            raise error
        self._interrupt = self._interrupt or error

    def report(self, error: BaseException) -> None:
        """Report an error that belongs to no call to ``on_error`` or, without one, to the log."""
        self.publish(ErrorRaised(error))
        if self.options.on_error is None:
            LOG.error("client %d: %s", self.client_id, error, exc_info=error)
            return
        previous, self._callback_thread = self._callback_thread, threading.get_ident()
        try:
            self.options.on_error(error)
        except Exception:  # noqa: BLE001 - there is nobody left to tell
            LOG.exception("client %d: the error handler failed", self.client_id)
        except BaseException as interrupt:  # noqa: BLE001 - it is raised again
            self._keep_interrupt(interrupt)
        finally:
            self._callback_thread = previous

    def events(self, timeout: float | None) -> EventStream:
        """Return a new stream of the events that happen from now on."""
        if self.forked:
            self.ensure_usable()
        with self.lock:
            stream = EventStream(timeout, self._forget_stream)
            if self.closed:
                stream.put(ClientClosed(self.close_reason))
            held = [kept for kept in self._event_streams if kept() is not None]
            self._event_streams = (*held, weakref.ref(stream))
            return stream

    def _forget_stream(self, stream: EventStream) -> None:
        with self.lock:
            self._event_streams = tuple(
                kept for kept in self._event_streams if kept() not in {None, stream}
            )

    def publish(self, event: Event) -> None:
        """Give an event to every stream that somebody still holds."""
        for reference in self._event_streams:
            stream = reference()
            if stream is not None:
                stream.put(event)


def _because(reason: BaseException | None) -> str:
    return "" if reason is None else f": {reason}"
