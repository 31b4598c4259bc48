"""Checks of publishers and subscribers: who stands still, and who holds back whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.tools.views.stream_limits import limited_by, reader_text
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Figure, Finding
    from aerolog.tools.doctor.system_snapshot import Case, DriverSnapshot
    from aerolog.tools.views.stream_views import StreamView, Subscriber

_DEFAULT_WINDOW: Final = 128 * 1024

_kind: Final = partial(FindingKind, Area.PUBLISHERS)

PUBLICATION_BLOCKED = _kind(
    "publication-blocked",
    Severity.CRITICAL,
    "the publication is blocked at position {position!n}: a frame was claimed there and never"
    " committed, {waiting!b} wait behind it",
    "a publisher died, or forgot to commit or abort a claim; nobody can read past it. The driver"
    " puts padding there after aeron.publication.unblock.timeout (15 s)",
    "find the publisher that was killed while it wrote; commit or abort every claim, also after"
    " an exception",
)
PUBLISHER_HELD = _kind(
    "publisher-blocked",
    Severity.CRITICAL,
    "the publisher stands at its limit, position {position!n}, and nothing has moved for"
    " {span!t}: {cause}",
    "every offer is answered with back pressure; what holds it back: {limit}",
    "look at what holds it back: {advice}",
)
PUBLISHER_LIMITED = _kind(
    "publisher-limited",
    Severity.WARNING,
    "the publisher is back-pressured: it stands at its limit, position {position!n}, and the limit"
    " moves at {rate!v}: {cause}",
    "it publishes as fast as the slowest that it waits for: {limit}",
    "look at what holds it back: {advice}",
)
NO_SUBSCRIBER = _kind(
    "publisher-unconnected",
    Severity.NOTICE,
    "the publication has no subscriber; its position is {position!n}",
    "offers are answered with NOT_CONNECTED: nobody subscribes to this channel and stream, or"
    " status messages of the receivers do not arrive",
    "compare channel and stream id of publisher and subscriber; for UDP look whether the address"
    " is right and a firewall lets both directions through",
)
SUBSCRIBER_STOPPED = _kind(
    "subscriber-stopped",
    Severity.WARNING,
    "{who} has stopped reading at position {position!n}: {lag!b} behind, not moved for {span!t}",
    "its program does not poll: it is stopped, hangs in a handler, or waits for something; its"
    " window is {window!b}, when that is full the publisher is held back",
    "look what the program of client {client_id} does; for one that may lose data subscribe with"
    " tether=false, so that it does not hold back the others",
)
SUBSCRIBER_SLOW = _kind(
    "subscriber-slow",
    Severity.WARNING,
    "{who} is slow: {lag!b} behind at position {position!n}, of a window of {window!b}",
    "it reads slower than is published: the stream is as fast as it is",
    "make its handler faster or move work to another thread, poll with a greater fragment limit;"
    " a longer term (term-length) bridges bursts, not a lasting difference",
)
UNBLOCKED = _kind(
    "publications-unblocked",
    Severity.NOTICE,
    "{count!n} publications were unblocked by the driver ({new!n} of them while we looked)",
    "a publisher died, or forgot a claim, in the middle of a write; subscribers waited for 15 s",
    "find the publisher that is killed while it writes; commit or abort every claim",
)
REVOKED = _kind(
    "publications-revoked",
    Severity.NOTICE,
    "{count!n} publications were revoked ({new!n} of them while we looked)",
    "a publisher closed without waiting for its subscribers: what they had not read is lost to"
    " them. An archive revokes a replay that failed",
    "look for errors of replays; close publications without revoking them where data matters",
)
REJECTED = _kind(
    "images-rejected",
    Severity.WARNING,
    "{count!n} images were rejected by subscribers ({new!n} of them while we looked)",
    "a subscriber has refused a publisher's data; that publisher is cut off from it",
    "look for the reason in the publisher's error log (`aerolog errors`)",
)
#: What to do by what holds the publisher back.
_ADVICE: Final = {
    "subscriber": "see what {who} does; remove it, make it faster, or let it"
    " subscribe with tether=false",
    "receivers": "look at the receiving machine with `aerolog doctor`: a subscriber there that does"
    " not read, loss, or small windows (rcv-wnd, aeron.rcv.initial.window.length)",
    "sender": "the sender is behind its publisher: look at its duty cycle, idle strategy and CPU",
    "space": "look whether the disk under the driver's directory is full, and at its error log",
}


@dataclass(frozen=True, slots=True)
class _Reader:
    """A subscriber against what it could have read.

    Attributes:
        lag: bytes behind.
        window: bytes that it may be behind before it holds back the publisher.
        moved: how far since the last look; None without one.
        lag_before: bytes that it was behind at the last look.
    """

    subscriber: Subscriber
    lag: int
    window: int
    moved: int | None
    lag_before: int

    @property
    def who(self) -> str:
        """The name of the subscriber in a sentence."""
        return reader_text(self.subscriber)

    @property
    def has_stopped(self) -> bool:
        """Whether there was something to read all the time and it has not."""
        return self.moved == 0 and min(self.lag, self.lag_before) > 0


def publications_move(case: Case) -> Iterator[Finding]:
    """Does every publisher get on?"""
    driver = case.driver
    if driver is None or not driver.is_alive(case.now.now_ms):
        return
    before = _streams_before(case)
    for stream in driver.streams:
        if stream.publisher is None or stream.publisher.position is None:
            continue
        log = driver.logs.get(stream.publisher.registration_id)
        if log is not None and log.is_ended:
            continue  # closed; it stays until it has been read
        earlier = before.get(stream.identity)
        blocked = _blocked(stream, case, driver)
        if blocked is not None:
            yield blocked
        elif not _is_connected(stream, driver):
            yield NO_SUBSCRIBER.found(subject(stream), position=stream.publisher.position)
        elif (stream.publisher.window or 0) <= 0 and _was_held(earlier, case):
            yield _held(stream, earlier, case, driver)


def subscribers_read(case: Case) -> Iterator[Finding]:
    """Does every subscriber keep up?"""
    driver = case.driver
    if driver is None or not driver.is_alive(case.now.now_ms):
        return
    before = _streams_before(case)
    for stream in driver.streams:
        for reader in _readers(stream, before.get(stream.identity), driver):
            figures = _figures(reader, case)
            if reader.has_stopped:
                severe = reader.lag >= reader.window
                yield SUBSCRIBER_STOPPED.found(
                    subject(stream), Severity.CRITICAL if severe else None, **figures
                )
            elif reader.window and reader.lag >= reader.window * 3 // 4:
                yield SUBSCRIBER_SLOW.found(subject(stream), **figures)


def publications_end_well(case: Case) -> Iterator[Finding]:
    """Were publications unblocked, revoked, refused?"""
    driver = case.driver
    if driver is None:
        return
    for kind, system_id in (
        (UNBLOCKED, SystemCounter.UNBLOCKED_PUBLICATIONS),
        (REVOKED, SystemCounter.PUBLICATIONS_REVOKED),
        (REJECTED, SystemCounter.IMAGES_REJECTED),
    ):
        counter = driver.system.get(system_id)
        if counter is not None and counter.value > 0:
            new = case.growth_of(counter)
            severity = Severity.WARNING if new else Severity.NOTICE
            yield kind.found(f"driver {driver.aeron_dir}", severity, count=counter.value, new=new)


def subject(stream: StreamView) -> str:
    """How a stream is named in findings."""
    return f"stream {stream.stream_id}, session {stream.session_id}, {stream.channel}"


def _streams_before(case: Case) -> dict[tuple[int, int, int], StreamView]:
    before = case.driver_before
    return {} if before is None else {stream.identity: stream for stream in before.streams}


def _blocked(stream: StreamView, case: Case, driver: DriverSnapshot) -> Finding | None:
    """A frame that stayed uncommitted from one look to the next, or None."""
    assert stream.publisher is not None
    log_id, before = stream.publisher.registration_id, case.driver_before
    log = driver.logs.get(log_id)
    earlier = before.logs.get(log_id) if before is not None else None
    if log is None or earlier is None or log.blocked_at < 0:
        return None
    if log.blocked_at != earlier.blocked_at or log.metadata != earlier.metadata:
        return None
    return PUBLICATION_BLOCKED.found(
        subject(stream), position=log.blocked_at, waiting=log.tail - log.blocked_at
    )


def _is_connected(stream: StreamView, driver: DriverSnapshot) -> bool:
    assert stream.publisher is not None
    log = driver.logs.get(stream.publisher.registration_id)
    if log is not None:
        return log.is_connected and not (stream.is_ipc and not stream.subscribers)
    return bool(stream.subscribers or stream.receivers or stream.sender is not None)


def _was_held(earlier: StreamView | None, case: Case) -> bool:
    """Whether the publisher was at its limit at the look before as well, as far as known."""
    if case.before is None:
        return True
    if earlier is None or earlier.publisher is None:
        return False
    return (earlier.publisher.window or 0) <= 0


def _held(
    stream: StreamView, earlier: StreamView | None, case: Case, driver: DriverSnapshot
) -> Finding:
    publisher = stream.publisher
    assert publisher is not None
    limit = publisher.limit or 0
    moved = None
    if earlier is not None and earlier.publisher is not None:
        moved = limit - (earlier.publisher.limit or 0)
    cause, advice = _cause(stream, earlier, driver)
    figures: dict[str, Figure] = {
        "position": publisher.position or 0,
        "publisher_limit": limit,
        "cause": cause,
        "limit": limited_by(stream, earlier, case.interval_s).text,
        "advice": advice,
        "span": int(case.interval_s * NS_PER_S),
        "rate": 0.0 if not moved or not case.interval_s else moved / case.interval_s,
    }
    kind = PUBLISHER_HELD if moved == 0 else PUBLISHER_LIMITED
    return kind.found(subject(stream), **figures)


def _cause(
    stream: StreamView, earlier: StreamView | None, driver: DriverSnapshot
) -> tuple[str, str]:
    """What holds a publisher back, and what to do."""
    readers = sorted(_readers(stream, earlier, driver), key=lambda one: -one.lag)
    if readers and readers[0].lag >= readers[0].window // 2 > 0:
        who = readers[0].who
        stopped = "does not read" if readers[0].has_stopped else "is slow"
        return f"{who} {stopped}", _ADVICE["subscriber"].format(who=who)
    sender = stream.sender
    if sender is not None and (sender.window or 0) <= 0:
        return "the receivers permit no more (flow control)", _ADVICE["receivers"]
    if sender is not None:
        return "the sender has not sent what was published", _ADVICE["sender"]
    return "the driver does not move the limit", _ADVICE["space"]


def _readers(
    stream: StreamView, earlier: StreamView | None, driver: DriverSnapshot
) -> Iterator[_Reader]:
    """All subscribers of a stream on this driver, with what they could have read."""
    heads = _heads(stream)
    heads_before = {} if earlier is None else _heads(earlier)
    positions = (
        {} if earlier is None else {one.counter_id: one.position for one in earlier.subscribers}
    )
    for one in stream.subscribers:
        head = heads.get(one.reference_id)
        if head is None:
            continue
        was = positions.get(one.counter_id)
        moved = None if was is None else one.position - was
        lag_before = heads_before.get(one.reference_id, 0) - (was or 0)
        window = _window(one.reference_id, driver)
        yield _Reader(one, max(head - one.position, 0), window, moved, lag_before)


def _heads(stream: StreamView) -> dict[int, int]:
    """Up to where there is something to read, by publication and image."""
    heads = {one.registration_id: (one.position or one.hwm or 0) for one in stream.receivers}
    if stream.publisher is not None:
        heads[stream.publisher.registration_id] = stream.publisher.position or 0
        if stream.sender is not None and stream.sender.position is not None:
            # A spy reads what has been sent.
            heads[stream.publisher.registration_id] = stream.sender.position
    return heads


def _window(registration_id: int, driver: DriverSnapshot) -> int:
    log = driver.logs.get(registration_id)
    if log is None:
        return _DEFAULT_WINDOW
    told = log.metadata.publication_window_length or log.metadata.receiver_window_length
    return told or log.metadata.term_length // 2


def _figures(reader: _Reader, case: Case) -> dict[str, Figure]:
    return {
        "who": reader.who,
        "registration_id": reader.subscriber.registration_id,
        "client_id": reader.subscriber.client_id,
        "position": reader.subscriber.position,
        "lag": reader.lag,
        "window": reader.window,
        "span": int(case.interval_s * NS_PER_S),
    }


CHECKS: Final = (publications_move, subscribers_read, publications_end_well)
