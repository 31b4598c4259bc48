"""Checks of settings: lengths of terms, windows, pages and datagrams that do not go together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.transport.logbuffer.metadata import LogType
from aerolog.transport.time_units import NS_PER_S
from aerolog.transport.uri.known_keys import nearest_key, unknown_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case, DriverSnapshot, LogSnapshot

_EXHAUSTED_PART: Final = 0.9
#: A term should last for some milliseconds.
_TERMS_PER_SECOND: Final = 200
#: Payload of a datagram in a jumbo frame of Ethernet.
_JUMBO: Final = 8_972
_USUAL_WINDOW: Final = 128 * 1024
#: Of a channel, at least so much is in a counter's label.
_CHANNEL_SHOWN: Final = 300

_kind: Final = partial(FindingKind, Area.SETTINGS)

PAGE_SIZE = _kind(
    "page-size-mismatch",
    Severity.WARNING,
    "the driver makes files in pages of {page_size!b}, the file system of its directory has pages"
    " of {block_size!b}",
    "on huge pages a file that is no multiple of them cannot be mapped, or takes the room of the"
    " next multiple",
    "set aeron.file.page.size={block_size}, or put aeron.dir on a file system of small pages",
)
PAGE_DIFFERS = _kind(
    "page-size-differs",
    Severity.WARNING,
    "the log {path} was made in pages of {log_page!b}, its driver says {page_size!b}",
    "the log is not of this driver's life or settings, or its metadata is damaged",
    "stop driver and clients, remove the directory, start anew",
)
WINDOW_OF_TERM = _kind(
    "window-half-term",
    Severity.WARNING,
    "the receiver window is cut to {window!b}, half of a term of {term!b}: {wanted!b} is the usual"
    " window",
    "a stream moves one window a round trip at most: with a short term distant streams are slow",
    "use longer terms (term-length=1m or more) where the round trip is not tiny",
)
TERM_SHORT = _kind(
    "term-short",
    Severity.WARNING,
    "the publication moves {rate!v} through terms of {term!b}: a term is full every {every!t}",
    "each end of a term costs a rotation and cleaning, and the publisher has half a term before it"
    " waits: a short pause of a subscriber holds it back",
    "give the channel a longer term (term-length), so that one lasts for 10 ms and more",
)
MTU_LARGE = _kind(
    "mtu-large",
    Severity.NOTICE,
    "datagrams of {mtu!b} are greater than what Ethernet carries in one (1,472 bytes, 8,972 with"
    " jumbo frames)",
    "they travel in fragments: with one fragment lost all of the datagram is lost",
    "use mtu=1408, or 8k where all of the way has jumbo frames; on one machine it does not matter",
)
POSITION_END = _kind(
    "positions-exhausted",
    Severity.WARNING,
    "the stream stands at position {position!n}, {percent}% of what it can have with terms of"
    " {term!b}",
    "at its end offers are answered with MAX_POSITION_EXCEEDED for good",
    "close the publication and add a new one in time; longer terms make longer streams",
)
WINDOWS_DIFFER = _kind(
    "windows-differ",
    Severity.NOTICE,
    "images of one channel have receiver windows from {least!b} to {most!b}",
    "with flow control by the slowest receiver the smallest window rules",
    "give the subscriptions of a channel the same rcv-wnd and term length",
)
PARAMETER_UNKNOWN = _kind(
    "channel-parameter-unknown",
    Severity.NOTICE,
    "a channel has the parameter {key}, which no driver knows",
    "drivers ignore unknown parameters: what it was meant to set has its default",
    "correct it in the program that opens the channel{near}; drivers and clients with"
    " aerolog.strict=true refuse such channels",
)


def pages_fit(case: Case) -> Iterator[Finding]:
    """Are the files' pages those of the file system?"""
    driver = case.driver
    if driver is None:
        return
    subject = f"driver {driver.aeron_dir}"
    if driver.disk is not None and driver.disk.block_size > driver.page_size:
        yield PAGE_SIZE.found(
            subject, page_size=driver.page_size, block_size=driver.disk.block_size
        )
    for log in driver.logs.values():
        if log.metadata.page_size != driver.page_size:
            yield PAGE_DIFFERS.found(
                f"log {log.path}",
                path=log.path,
                log_page=log.metadata.page_size,
                page_size=driver.page_size,
            )


def terms_fit(case: Case) -> Iterator[Finding]:
    """Are terms, windows and datagrams of lengths that go together?"""
    driver = case.driver
    if driver is None:
        return
    rates = _rates(case)
    windows: dict[str, set[int]] = {}
    for stream in driver.streams:
        name = f"stream {stream.stream_id}, session {stream.session_id}, {stream.channel}"
        for receiver in stream.receivers:
            log = driver.logs.get(receiver.registration_id)
            if log is not None:
                windows.setdefault(receiver.channel, set()).add(log.metadata.receiver_window_length)
                yield from _image(log, name)
        if stream.publisher is not None:
            log = driver.logs.get(stream.publisher.registration_id)
            if log is not None:
                rate = rates.get(stream.publisher.registration_id, 0.0)
                yield from _publication(log, name, stream.publisher.position or 0, rate)
    for channel, found in windows.items():
        if len(found) > 1:
            yield WINDOWS_DIFFER.found(channel, least=min(found), most=max(found))


def _image(log: LogSnapshot, name: str) -> Iterator[Finding]:
    meta = log.metadata
    if meta.receiver_window_length == meta.term_length // 2 < _USUAL_WINDOW:
        yield WINDOW_OF_TERM.found(
            name, window=meta.receiver_window_length, term=meta.term_length, wanted=_USUAL_WINDOW
        )


def _publication(log: LogSnapshot, name: str, position: int, rate: float) -> Iterator[Finding]:
    meta = log.metadata
    if rate / meta.term_length > _TERMS_PER_SECOND:
        every = int(NS_PER_S * meta.term_length / rate)
        yield TERM_SHORT.found(name, rate=rate, term=meta.term_length, every=every)
    is_network = meta.socket_sndbuf_length > 0
    if is_network and meta.type is not LogType.IMAGE and meta.mtu_length > _JUMBO:
        yield MTU_LARGE.found(name, mtu=meta.mtu_length)
    most = meta.term_length << 31
    if position > most * _EXHAUSTED_PART:
        yield POSITION_END.found(
            name, position=position, percent=int(100 * position / most), term=meta.term_length
        )


def _rates(case: Case) -> dict[int, float]:
    """Bytes a second of publications by registration id; empty with one look."""
    before = case.driver_before
    if before is None or case.driver is None or case.interval_s <= 0:
        return {}
    was = _positions(before)
    return {
        one: (position - was[one]) / case.interval_s
        for one, position in _positions(case.driver).items()
        if one in was
    }


def _positions(driver: DriverSnapshot) -> dict[int, int]:
    return {
        stream.publisher.registration_id: stream.publisher.position or 0
        for stream in driver.streams
        if stream.publisher is not None
    }


def parameters_known(case: Case) -> Iterator[Finding]:
    """Do channels have parameters that no driver knows?"""
    driver = case.driver
    if driver is None:
        return
    seen: set[str] = set()
    for stream in driver.streams:
        ends = [stream.publisher, *stream.receivers, *stream.subscribers]
        for channel in [stream.channel, *(end.channel for end in ends if end is not None)]:
            is_cut = len(channel) >= _CHANNEL_SHOWN  # perhaps within the last parameter
            for key in unknown_keys(channel.rpartition("|")[0] if is_cut else channel):
                if key not in seen:
                    seen.add(key)
                    nearest = nearest_key(key)
                    near = "" if nearest is None else f" ({nearest} is meant?)"
                    yield PARAMETER_UNKNOWN.found(channel, key=key, near=near)


CHECKS: Final = (pages_fit, terms_fit, parameters_known)
