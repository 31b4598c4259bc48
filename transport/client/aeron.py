"""``Aeron``: a client of a media driver (spec client 2 to 21, 28)."""

from __future__ import annotations

import atexit
import operator
import os
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Self

from aerolog.transport.client import connection
from aerolog.transport.client.client_conductor import ClientConductor
from aerolog.transport.client.client_counters import Counter, Counters
from aerolog.transport.client.options import ClientOptions, log_change
from aerolog.transport.client.publication import ExclusivePublication, Publication
from aerolog.transport.client.registration import RegistrationFuture, ResourceKind
from aerolog.transport.client.subscription import Subscription
from aerolog.transport.concurrent.daemon_thread import DaemonThread
from aerolog.transport.errors import ConfigurationError, ResourceClosedError
from aerolog.transport.memory.counters import MAX_KEY_LENGTH, MAX_LABEL_LENGTH
from aerolog.transport.protocol import commands
from aerolog.transport.resource import Resource
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from aerolog.transport.client.client_events import EventStream
    from aerolog.transport.client.options import CounterHandler, ImageHandler

_open_clients: weakref.WeakSet[Aeron] = weakref.WeakSet()


class Aeron(Resource):
    """A client of a media driver; all its methods may be called from any thread.

    Its heartbeats come from a native thread that needs no interpreter lock. With ``invoker=True``
    there is no thread: call ``do_work`` at least once a second.

    Args:
        dir: the driver's directory; None takes ``AERON_DIR``, or else the default of this user.
        driver_timeout: seconds (or a timedelta, or text as ``"10s"``) to wait for a driver and for
            its answers, and the age at which its heartbeat means that it is gone.
        name: shown in the label of this client's heartbeat; at most 100 characters.
        on_error: called with errors that belong to no call; without it they are logged.
        options: further options of ``ClientOptions.of``: keepalive_interval, idle_sleep, invoker,
            driver_invoker, driver_bell, pre_touch, on_close, on_image, on_image_gone, on_counter,
            on_counter_gone, on_publication_error, clock, file_system, properties.

    Handlers run on the client's thread, or in a call that reads the driver's messages. They may not
    call add, remove or close; readers of ``events()`` may.

    Raises:
        DriverTimeoutError: no driver was found within the driver timeout.
        FileFormatError: the driver's cnc.dat is damaged or of another version.
        ConfigurationError: options that cannot be used.
    """

    def __init__(
        self,
        dir: str | os.PathLike[str] | None = None,  # noqa: A002 - the property's name
        *,
        driver_timeout: float | timedelta | str | None = None,
        name: str | None = None,
        on_error: Callable[[BaseException], object] | None = None,
        **options: Any,
    ) -> None:
        self._conductor: ClientConductor | None = None
        self.options = ClientOptions.of(
            None if dir is None else os.fspath(dir),
            driver_timeout=driver_timeout,
            name=name,
            on_error=on_error,
            **options,
        )
        self.options.aeron_dir = os.path.realpath(self.options.aeron_dir)
        conductor = ClientConductor(self.options, connection.connect(self.options))
        conductor.attach(self)
        self._conductor = conductor
        self._thread: DaemonThread | None = None
        if not self.options.invoker:
            self._thread = DaemonThread(conductor.run, "aeron-client")
            try:
                self._thread.start()
            except BaseException:
                self.close()
                raise
        _open_clients.add(self)

    @classmethod
    def connect(
        cls,
        dir: str | os.PathLike[str] | None = None,  # noqa: A002 - the property's name
        **options: Any,
    ) -> Self:
        """Connect to a driver; this is the same as calling the class."""
        return cls(dir, **options)

    @property
    def conductor(self) -> ClientConductor:
        """The client's conductor, which is internal to the packages of this project."""
        if self._conductor is None:
            raise ResourceClosedError("this client was never connected")
        return self._conductor

    # -- publications and subscriptions ----------------------------------------------------------

    def add_publication(
        self, channel: str | ChannelUri, stream_id: int, *, timeout: float | None = None
    ) -> Publication:
        """Add a publication that any thread and process may share.

        Args:
            channel: as text or ChannelUri.
            stream_id: a 32-bit number.
            timeout: seconds to wait for the driver's answer; None for the driver timeout.

        Raises:
            RegistrationError: the driver refused it.
            DriverTimeoutError: it did not answer.
            LogGoneError: it ended when it had answered.
        """
        return self.conductor.await_answer(self.add_publication_async(channel, stream_id), timeout)

    def add_publication_async(
        self, channel: str | ChannelUri, stream_id: int
    ) -> RegistrationFuture[Publication]:
        """Add a publication as ``add_publication`` does, without waiting."""
        return self._publish(
            ResourceKind.PUBLICATION, commands.AddPublication, Publication, channel, stream_id
        )

    def add_exclusive_publication(
        self, channel: str | ChannelUri, stream_id: int, *, timeout: float | None = None
    ) -> ExclusivePublication:
        """Add a publication with a log and session of its own, for one thread at a time."""
        return self.conductor.await_answer(
            self.add_exclusive_publication_async(channel, stream_id), timeout
        )

    def add_exclusive_publication_async(
        self, channel: str | ChannelUri, stream_id: int
    ) -> RegistrationFuture[ExclusivePublication]:
        """Add a publication as ``add_exclusive_publication`` does, without waiting."""
        return self._publish(
            ResourceKind.EXCLUSIVE_PUBLICATION,
            commands.AddExclusivePublication,
            ExclusivePublication,
            channel,
            stream_id,
        )

    def add_unshared_publication_async(
        self, channel: str | ChannelUri, stream_id: int
    ) -> RegistrationFuture[Publication]:
        """Add a publication with a log and session of its own, which all threads here may use."""
        return self._publish(
            ResourceKind.EXCLUSIVE_PUBLICATION,
            commands.AddExclusivePublication,
            Publication,
            channel,
            stream_id,
        )

    def _publish(
        self,
        kind: ResourceKind,
        command: Any,
        make: Any,
        channel: str | ChannelUri,
        stream_id: int,
    ) -> RegistrationFuture[Any]:
        conductor = self.conductor
        text, stream = _channel_text(channel), _int32("stream_id", stream_id)
        conductor.check_keys(text)

        def complete(ready: Any) -> Any:
            logs = conductor.logs.acquire(ready.registration_id, ready.log_file)
            try:
                publication = make(conductor, ready, logs, conductor.counters, text)
            except BaseException:
                conductor.logs.release(ready.registration_id)
                raise
            conductor.publications[publication.registration_id] = publication
            log_change(client_id, "added", publication)
            return publication

        client_id = conductor.client_id
        return conductor.submit(kind, lambda i: command(client_id, i, stream, text), complete)

    def add_subscription(
        self,
        channel: str | ChannelUri,
        stream_id: int,
        *,
        on_image: ImageHandler | None = None,
        on_image_gone: ImageHandler | None = None,
        timeout: float | None = None,
    ) -> Subscription:
        """Add a subscription.

        Args:
            channel: as text or ChannelUri; with the prefix ``aeron-spy:`` it spies on a local
                network publication.
            stream_id: a 32-bit number.
            on_image: called with each new image; None takes the client's own handler.
            on_image_gone: called with each image that became unavailable, which is already closed;
                None takes the client's own handler.
            timeout: seconds to wait for the driver's answer; None for the driver timeout.

        Raises:
            RegistrationError: the driver refused it.
            DriverTimeoutError: it did not answer.
        """
        return self.conductor.await_answer(
            self.add_subscription_async(
                channel, stream_id, on_image=on_image, on_image_gone=on_image_gone
            ),
            timeout,
        )

    def add_subscription_async(
        self,
        channel: str | ChannelUri,
        stream_id: int,
        *,
        on_image: ImageHandler | None = None,
        on_image_gone: ImageHandler | None = None,
    ) -> RegistrationFuture[Subscription]:
        """Add a subscription as ``add_subscription`` does, without waiting."""
        conductor = self.conductor
        text, stream = _channel_text(channel), _int32("stream_id", stream_id)
        conductor.check_keys(text)
        handlers = (on_image or self.options.on_image, on_image_gone or self.options.on_image_gone)

        def complete(ready: Any) -> Subscription:
            subscription = Subscription(conductor, ready.correlation_id, text, stream, *handlers)
            subscription.set_channel_status_id(ready.channel_status_id)
            conductor.subscriptions[subscription.registration_id] = subscription
            log_change(client_id, "added", subscription)
            return subscription

        client_id = conductor.client_id
        return conductor.submit(
            ResourceKind.SUBSCRIPTION,
            lambda i: commands.AddSubscription(client_id, i, stream, text),
            complete,
        )

    # -- counters --------------------------------------------------------------------------------

    @property
    def counters(self) -> Counters:
        """All counters of the driver, by id."""
        return Counters(self.conductor.counters)

    def add_counter(
        self, type_id: int, label: str, key: bytes = b"", *, timeout: float | None = None
    ) -> Counter:
        """Add a counter, which is freed with this client.

        Args:
            type_id: from 1000 on for applications.
            label: at most 380 ASCII characters.
            key: at most 112 bytes.
            timeout: seconds to wait for the driver's answer; None for the driver timeout.
        """
        return self.conductor.await_answer(self.add_counter_async(type_id, label, key), timeout)

    def add_counter_async(
        self, type_id: int, label: str, key: bytes = b""
    ) -> RegistrationFuture[Counter]:
        """Add a counter as ``add_counter`` does, without waiting."""
        conductor = self.conductor
        _check_counter(label, key)

        def complete(ready: Any) -> Counter:
            counter = Counter(conductor, ready.counter_id, ready.correlation_id, False)
            conductor.own_counters[counter.registration_id] = counter
            return counter

        client_id, key = conductor.client_id, bytes(key)
        return conductor.submit(
            ResourceKind.COUNTER,
            lambda i: commands.AddCounter(client_id, i, _int32("type_id", type_id), key, label),
            complete,
        )

    def add_static_counter(
        self,
        type_id: int,
        label: str,
        key: bytes = b"",
        *,
        registration_id: int,
        timeout: float | None = None,
    ) -> Counter:
        """Add, or find, a counter that outlives its clients.

        Args:
            type_id: from 1000 on for applications.
            label: at most 380 ASCII characters.
            key: at most 112 bytes.
            registration_id: identifies the counter together with the type.
            timeout: seconds to wait for the driver's answer; None for the driver timeout.
        """
        return self.conductor.await_answer(
            self.add_static_counter_async(type_id, label, key, registration_id=registration_id),
            timeout,
        )

    def add_static_counter_async(
        self, type_id: int, label: str, key: bytes = b"", *, registration_id: int
    ) -> RegistrationFuture[Counter]:
        """Add or find a counter as ``add_static_counter`` does, without waiting."""
        conductor = self.conductor
        _check_counter(label, key)
        client_id, key = conductor.client_id, bytes(key)
        return conductor.submit(
            ResourceKind.STATIC_COUNTER,
            lambda i: commands.AddStaticCounter(
                client_id, i, registration_id, _int32("type_id", type_id), key, label
            ),
            lambda ready: Counter(conductor, ready.counter_id, registration_id, True),
        )

    def add_counter_handler(
        self,
        on_counter: CounterHandler | None = None,
        on_counter_gone: CounterHandler | None = None,
    ) -> None:
        """Call these with (counters, registration id, counter id) when counters come and go."""
        self._edit("append", on_counter, on_counter_gone)

    def remove_counter_handler(
        self,
        on_counter: CounterHandler | None = None,
        on_counter_gone: CounterHandler | None = None,
    ) -> None:
        """Remove counter handlers.

        Raises:
            ValueError: if a handler was not added.
        """
        self._edit("remove", on_counter, on_counter_gone)

    def _edit(self, method: str, come: CounterHandler | None, gone: CounterHandler | None) -> None:
        conductor = self.conductor
        conductor.ensure_usable()
        with conductor.lock:
            for handlers, handler in (
                (conductor.counter_handlers, come),
                (conductor.counter_gone_handlers, gone),
            ):
                if handler is not None:
                    getattr(handlers, method)(handler)

    # -- ids and commands ------------------------------------------------------------------------

    @property
    def client_id(self) -> int:
        """The id of this client, which its heartbeat counter carries."""
        return self.conductor.client_id

    @property
    def aeron_dir(self) -> str:
        """The driver's directory."""
        return self.options.aeron_dir

    def next_correlation_id(self) -> int:
        """An id that no other client of this driver has been given."""
        return self.conductor.next_correlation_id()

    def next_session_id(self, stream_id: int, *, timeout: float | None = None) -> int:
        """Return a session id that no publication of the stream uses; random with old drivers."""
        return self.conductor.await_answer(self.next_session_id_async(stream_id), timeout)

    def next_session_id_async(self, stream_id: int) -> RegistrationFuture[int]:
        """Request a session id as ``next_session_id`` does, without waiting."""
        conductor = self.conductor
        conductor.ensure_usable()
        if not conductor.connection.knows_next_session_id:
            known: RegistrationFuture[int]
            known = RegistrationFuture(conductor.next_correlation_id(), conductor, self)
            known.set_result(int.from_bytes(os.urandom(4), "little", signed=True))
            return known
        client_id, stream = conductor.client_id, _int32("stream_id", stream_id)
        return conductor.submit(
            ResourceKind.SESSION_ID,
            lambda i: commands.GetNextAvailableSessionId(client_id, i, stream),
            lambda ready: int(ready.session_id),
        )

    def is_command_active(self, correlation_id: int) -> bool:
        """Whether a command still waits for its answer; False on a closed client."""
        return self.conductor.is_command_active(correlation_id)

    def has_active_commands(self) -> bool:
        """Whether any command still waits for its answer; False on a closed client."""
        return self.conductor.has_active_commands()

    # -- life ------------------------------------------------------------------------------------

    def events(self, timeout: float | None = None) -> EventStream:
        """A stream of the events from now on; it ends with ClientClosed.

        Args:
            timeout: seconds without an event after which the iteration ends.
        """
        return self.conductor.events(timeout)

    def add_close_handler(self, handler: Callable[[], object]) -> None:
        """Call this once when the client ends, for whatever reason."""
        self.conductor.ensure_usable()
        with self.conductor.lock:
            self.conductor.close_handlers.append(handler)

    def remove_close_handler(self, handler: Callable[[], object]) -> None:
        """Remove a close handler.

        Raises:
            ValueError: if the handler was not added.
        """
        with self.conductor.lock:
            self.conductor.close_handlers.remove(handler)

    def do_work(self) -> int:
        """Do the work of a client without a thread once: heartbeat, liveness, messages.

        Returns:
            A work count; 0 if there was nothing to do.

        Raises:
            ConfigurationError: if the client has a thread.
        """
        if not self.options.invoker:
            raise ConfigurationError(
                "this client has a thread of its own: connect with invoker=True"
            )
        return self.conductor.do_work()

    @property
    def closed(self) -> bool:
        """Whether the client has ended."""
        return self.conductor.closed

    @property
    def close_reason(self) -> BaseException | None:
        """The error that ended the client; None while it is open or if the program closed it."""
        return self.conductor.close_reason

    def close(self) -> None:
        """Close everything that belongs to this client, and tell the driver. Idempotent."""
        if self._conductor is None:
            return
        self._conductor.close()
        _open_clients.discard(self)
        thread = self._thread
        if thread is not None and not self._conductor.forked:
            if thread is not threading.current_thread():
                thread.join()
            self._thread = None

    def __del__(self) -> None:
        conductor = self.__dict__.get("_conductor")
        if conductor is None or conductor.forked:
            return
        if not conductor.closed:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, stacklevel=1, source=self)
            conductor.close_dropped(self.close)

    def __repr__(self) -> str:
        if self._conductor is None:
            return "<Aeron>"
        state = " closed" if self._conductor.closed else ""
        return f"<Aeron {self.aeron_dir} client_id={self._conductor.client_id}{state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("Aeron belongs to this process: it cannot be pickled")


def _channel_text(channel: str | ChannelUri) -> str:
    if not isinstance(channel, (str, ChannelUri)):
        raise TypeError(f"channel is text or a ChannelUri, not {channel!r}")
    return str(channel)


def _int32(name: str, value: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an integer, not {value!r}")
    number = operator.index(value)
    if not -(1 << 31) <= number < 1 << 31:
        raise ConfigurationError(f"{name} {number} is not a 32-bit number")
    return number


def _check_counter(label: str, key: bytes) -> None:
    if len(key) > MAX_KEY_LENGTH:
        raise ConfigurationError(f"key of {len(key)} bytes, at most {MAX_KEY_LENGTH} fit")
    if len(label) > MAX_LABEL_LENGTH:
        raise ConfigurationError(
            f"label of {len(label)} characters, at most {MAX_LABEL_LENGTH} fit"
        )


@atexit.register
def _close_open_clients() -> None:
    """Close the clients that are still open at the end of the program."""
    for client in list(_open_clients):
        if client.__dict__.get("_conductor") is not None:
            client.close()
