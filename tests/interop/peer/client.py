"""The Java client peer: one JVM, one request a line, answers matched by number.

A ``JavaObject`` is a reference to an object in that JVM; ``obj.startRecording(...)`` calls the
method of that name there. What needs a callback or a loop has a method of its own here.
"""

import json
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Self

from peer.artifact import toolchain
from peer.c_build import STANDARD, c_programs
from peer.process import ServerProcess

PATIENCE = 30.0  # seconds for what ought to come at once: a loaded machine may stand still
ANSWER_MARGIN = 20.0  # seconds beyond a request's own deadline before the JVM counts as stuck


class JavaError(Exception):
    """An exception of the reference: its class, its code where it has one, its message."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['class']}: {error['message']}")
        self.java_class: str = error["class"]
        self.code: int | None = error.get("code")
        self.message: str = error["message"]


def to_wire(value: Any) -> Any:
    """An argument as the line protocol writes it."""
    if isinstance(value, JavaObject):
        return {"handle": value.handle}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"hex": bytes(value).hex()}
    return value


class JavaPeer:
    """One JVM that serves any number of reference clients."""

    def __init__(self, properties: dict[str, str] | None = None) -> None:
        command = toolchain().command("Peer", properties=properties or {})
        self._start(ServerProcess("java-client", command))

    def _start(self, process: ServerProcess) -> None:
        self.process = process
        self.process.wait_line("ready")
        self._pending: dict[int, Future[Any]] = {}
        self._number = 0
        self._lock = threading.Lock()
        self.process.on_line = self._answer

    def start(self, op: str, **fields: Any) -> Future[Any]:
        """Sends a request that runs in the background; the future has its result."""
        with self._lock:
            self._number += 1
            number = self._number
            future: Future[Any] = Future()
            self._pending[number] = future
            self.process.write_line(json.dumps({"id": number, "op": op, **fields}))
        return future

    def request(self, op: str, *, timeout: float = PATIENCE, **fields: Any) -> Any:
        """Sends a request and waits for its result.

        Raises:
            JavaError: what the reference threw.
        """
        future = self.start(op, timeout=timeout, **fields)
        try:
            return future.result(timeout + ANSWER_MARGIN)
        except FutureTimeout:
            raise AssertionError(
                f"no answer to {op} {fields}; the JVM's log:\n{self.process.log()}"
            ) from None

    def background(self, op: str, *, timeout: float = 30.0, **fields: Any) -> Future[Any]:
        """As `request`, on a thread of its own in the JVM, without waiting."""
        return self.start(op, timeout=timeout, background=True, **fields)

    def _answer(self, line: str | None) -> None:
        if line is None:
            with self._lock:
                pending, self._pending = self._pending, {}
            for future in pending.values():
                future.set_exception(AssertionError("the Java client peer has ended"))
            return
        answer = json.loads(line)
        with self._lock:
            future = self._pending.pop(answer["id"])
        if "error" in answer:
            future.set_exception(JavaError(answer["error"]))
        else:
            future.set_result(answer["result"])

    def connect(self, directory: str, **options: Any) -> "JavaAeron":
        """A reference client on an Aeron directory (name, driver_timeout_ms, keepalive_ms)."""
        answer = self.request("connect", dir=str(directory), **options)
        return JavaAeron(self, answer["handle"], "Aeron", answer["clientId"])

    def new(self, java_class: str) -> Any:
        """An object of a class of the reference, by its full name, made without arguments."""
        return self.wrap(self.request("new", **{"class": java_class}))

    def wrap(self, result: Any) -> Any:
        """Turns object answers into references."""
        if isinstance(result, list):
            return [self.wrap(item) for item in result]
        if isinstance(result, dict) and "handle" in result:
            kind = CLASSES.get(result["class"], JavaObject)
            return kind(self, result["handle"], result["class"])
        return result

    def stop(self) -> None:
        """Ends the JVM; clients that are still open are dropped without a close."""
        self.process.stop()

    def kill(self) -> None:
        """SIGKILL: all its clients die at once."""
        self.process.kill()


class CPeer(JavaPeer):
    """The reference's C client: one process that answers the same requests for any number.

    A version other than 1.51.0 is built when it is first asked for.
    """

    def __init__(self, version: str = STANDARD) -> None:
        self._start(ServerProcess("c-client", [str(c_programs(version).client)]))


class JavaObject:
    """A reference to an object in the JVM."""

    def __init__(self, peer: JavaPeer, handle: int, java_class: str) -> None:
        self.peer = peer
        self.handle = handle
        self.java_class = java_class

    def call(self, method: str, *args: Any) -> Any:
        """Calls a method; strings also name enum constants, bytes become a DirectBuffer."""
        wire = [to_wire(arg) for arg in args]
        return self.peer.wrap(
            self.peer.request("call", handle=self.handle, method=method, args=wire)
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: self.call(name, *args)

    def properties(self, *names: str) -> dict[str, Any]:
        """The results of several methods without arguments, in one round trip."""
        answer = self.peer.request("properties", handle=self.handle, names=list(names))
        return {name: self.peer.wrap(value) for name, value in answer.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.call("close")

    def __repr__(self) -> str:
        return f"<{self.java_class} {self.handle} in the JVM>"


class JavaAeron(JavaObject):
    """A reference client."""

    def __init__(self, peer: JavaPeer, handle: int, java_class: str, client_id: int = -1) -> None:
        super().__init__(peer, handle, java_class)
        self.client_id = client_id

    def add_publication(self, channel: str, stream_id: int) -> "JavaPublication":
        """A shared publication."""
        return self.call("addPublication", channel, stream_id)

    def add_exclusive_publication(self, channel: str, stream_id: int) -> "JavaPublication":
        """An exclusive publication."""
        return self.call("addExclusivePublication", channel, stream_id)

    def add_subscription(self, channel: str, stream_id: int) -> "JavaSubscription":
        """A subscription."""
        return self.call("addSubscription", channel, stream_id)

    def events(self) -> list[dict[str, Any]]:
        """What the client's handlers saw since the last call."""
        return self.peer.request("events", client=self.handle)

    def counters(self) -> list[dict[str, Any]]:
        """Every allocated counter, as the reference reads it (keys as hexadecimal text)."""
        return self.peer.request("counters", client=self.handle)

    def archive(self, **options: Any) -> "JavaArchive":
        """A reference archive client on this client (request_channel, response_channel, ...).

        ``credentials``, ``answer`` (to a challenge) and ``hmac_key`` are hexadecimal text.
        """
        answer = self.peer.request("archive_connect", client=self.handle, **options)
        return JavaArchive(self.peer, answer["handle"], "AeronArchive", answer)


class JavaPublication(JavaObject):
    """A shared or exclusive publication."""

    def offer(
        self,
        *messages: bytes,
        retry: bool = True,
        reserved_value: int = 0,
        timeout: float = PATIENCE,
    ) -> list[int]:
        """Offers in order, each until taken (or once, with ``retry=False``); the positions."""
        return self.peer.request(
            "offer_exclusive" if self.java_class == "ExclusivePublication" else "offer",
            publication=self.handle,
            messages=[bytes(message).hex() for message in messages],
            retry=retry,
            reserved_value=reserved_value,
            timeout=timeout,
        )

    def claim(self, message: bytes, *, abort: bool = False) -> int:
        """Claims, writes and commits one message, or aborts it."""
        return self.peer.request(
            "claim", publication=self.handle, message=bytes(message).hex(), abort=abort
        )

    def start_offer_numbered(
        self, count: int, length: int, *, first: int = 0, timeout: float = 30.0
    ) -> Future[dict[str, int]]:
        """Offers numbered messages (`numbered_message`) on a thread of the JVM."""
        return self.peer.background(
            "offer_numbered",
            publication=self.handle,
            count=count,
            length=length,
            first=first,
            timeout=timeout,
        )

    def offer_numbered(self, count: int, length: int, **options: Any) -> dict[str, int]:
        """As `start_offer_numbered`, waited for: ``{"count", "position"}``."""
        return self.start_offer_numbered(count, length, **options).result(60)


class JavaSubscription(JavaObject):
    """A subscription, or an image (both can be polled)."""

    def poll(
        self,
        count: int,
        *,
        assemble: bool = True,
        until_eos: bool = False,
        timeout: float = PATIENCE,
    ) -> list[dict[str, Any]]:
        """Messages until ``count`` came or the time is up; payloads under "data" as bytes."""
        messages = self.peer.request(
            "poll",
            subscription=self.handle,
            count=count,
            assemble=assemble,
            until_eos=until_eos,
            timeout=timeout,
        )
        for message in messages:
            message["data"] = bytes.fromhex(message["data"])
        return messages

    def start_poll_numbered(
        self, count: int, length: int, *, first: int = 0, timeout: float = 30.0
    ) -> Future[dict[str, Any]]:
        """Checks numbered messages on a thread of the JVM."""
        return self.peer.background(
            "poll_numbered",
            subscription=self.handle,
            count=count,
            length=length,
            first=first,
            timeout=timeout,
        )

    def poll_numbered(self, count: int, length: int, **options: Any) -> dict[str, Any]:
        """As `start_poll_numbered`, waited for: ``{"count", "position", "first_wrong"}``."""
        return self.start_poll_numbered(count, length, **options).result(60)


class JavaArchive(JavaObject):
    """A reference archive client; its plain methods are called by their Java names."""

    def __init__(
        self, peer: JavaPeer, handle: int, java_class: str, answer: dict[str, Any] | None = None
    ) -> None:
        super().__init__(peer, handle, java_class)
        self.control_session_id: int = (answer or {}).get("controlSessionId", -1)
        self.archive_id: int = (answer or {}).get("archiveId", -1)

    def recordings(self, **selection: Any) -> list[dict[str, Any]]:
        """Descriptors: ``recording_id=``, or ``from_=, count=, channel=, stream=``."""
        if "from_" in selection:
            selection["from"] = selection.pop("from_")
        return self.peer.request("archive_list", archive=self.handle, **selection)

    def recording_subscriptions(self, **selection: Any) -> list[dict[str, Any]]:
        """Active recording subscriptions (``channel=, stream=, apply_stream=``)."""
        return self.peer.request("archive_list_subscriptions", archive=self.handle, **selection)

    def signals(self) -> list[dict[str, Any]]:
        """Recording signals and errors that came since the last call."""
        return self.peer.request("archive_signals", archive=self.handle)

    def recording_events(
        self, subscription: JavaSubscription, count: int, *, timeout: float = PATIENCE
    ) -> list[dict[str, Any]]:
        """Events read from a subscription to the recording events stream."""
        return self.peer.request(
            "archive_recording_events",
            archive=self.handle,
            subscription=subscription.handle,
            count=count,
            timeout=timeout,
        )


CLASSES: dict[str, type[JavaObject]] = {
    "Aeron": JavaAeron,
    "AeronArchive": JavaArchive,
    "ConcurrentPublication": JavaPublication,
    "Publication": JavaPublication,
    "ExclusivePublication": JavaPublication,
    "Subscription": JavaSubscription,
    "Image": JavaSubscription,
}


def numbered_message(index: int, length: int) -> bytes:
    """Message ``index`` of the numbered stream that the Java peer makes and checks."""
    return index.to_bytes(8, "little", signed=True) + bytes(
        (index + i) & 0xFF for i in range(length - 8)
    )
