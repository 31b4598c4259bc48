"""What keeps a stream from being faster, in words.

From the publisher on: it is held back by its limit; the limit follows the slowest reader (IPC,
spies) or the sender; the sender is held back by what the receivers allow; and that follows the
slowest subscriber there, a gap that is being repaired, or the congestion window. The first link of
the chain that is not held back by the next one is what limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from aerolog.tools.views.stream_views import Publisher, Receiver, Sender, StreamView, Subscriber

#: A window is used up when less of it is left than this part of what is in flight: the driver
#: moves a limit only when it would move by an eighth of the window (spec cnc-and-commands 14.3).
_LEFT_PART: Final = 8
#: Bytes below which a sender cannot send another full frame of the default MTU.
_FRAME: Final = 1408
#: Window of a receiver where nothing else is known (spec configuration 5.2).
_DEFAULT_WINDOW: Final = 128 * 1024


class LimitKind(StrEnum):
    """What limits a stream."""

    NOTHING = "nothing"
    NO_SUBSCRIBER = "no subscriber"
    SLOW_SUBSCRIBER = "slow subscriber"
    FLOW_CONTROL = "flow control"
    RECEIVER_WINDOW = "receiver window"
    CONGESTION = "congestion"
    PUBLISHER_WINDOW = "publisher window"
    SENDER = "sender"
    LOSS = "loss"


@dataclass(frozen=True, slots=True)
class Limit:
    """What limits a stream now, and the figures that say so."""

    kind: LimitKind
    text: str


def limited_by(
    stream: StreamView, previous: StreamView | None = None, interval_s: float = 0.0
) -> Limit:
    """Says what limits a stream.

    Args:
        stream: the stream as it is now.
        previous: as it was before, None when nobody looked. With it, what happened in between
            counts as well: events of back pressure and lost packets.
        interval_s: seconds between the two.
    """
    case = _Case(stream, previous, interval_s)
    publisher = stream.publisher
    if publisher is None or publisher.position is None or publisher.limit is None:
        return case.of_receivers() or case.nothing()
    if stream.sender is None:
        return case.of_ipc(publisher) or case.nothing()
    return case.of_network(publisher, stream.sender) or case.nothing()


@dataclass(frozen=True, slots=True)
class _Case:
    """A stream as it is now and as it was before."""

    stream: StreamView
    previous: StreamView | None
    interval_s: float

    def nothing(self) -> Limit:
        """Nobody is waiting for anybody."""
        if self.previous is not None and self.stream.position == self.previous.position:
            return Limit(LimitKind.NOTHING, "nothing: no messages are published")
        return Limit(LimitKind.NOTHING, "nothing")

    def of_ipc(self, publisher: Publisher) -> Limit | None:
        """A publication whose readers map its log themselves."""
        window = publisher.window
        readers = self.stream.readers_of(publisher.registration_id)
        if not readers:
            return _nobody() if window is not None and window <= 0 else None
        position = publisher.position or 0
        behind = position - readers[0].position
        if window is None or not _is_used_up(window, behind):
            return None
        return _slow(readers[0], behind, f"the publisher has {_bytes(max(window, 0))} left")

    def of_network(self, publisher: Publisher, sender: Sender) -> Limit | None:
        """A publication that is sent."""
        window = publisher.window or 0
        position = publisher.position or 0
        sent = position if sender.position is None else sender.position
        spies = [s for s in self.stream.readers_of(publisher.registration_id) if s.is_spy]
        if spies and spies[0].position < sent and _is_used_up(window, position - spies[0].position):
            return _slow(spies[0], position - spies[0].position, "a spy holds the publisher back")
        held = self._of_sender(sender, waiting=position - sent)
        if held is not None:
            return held
        before = self.previous
        if window <= 0 and sent >= position and (before is None or before.position == position):
            # Nothing to send and no room: the driver keeps the limit where the stream stands.
            return _nobody()
        if _is_used_up(window, position - sent) and position > sent:
            return Limit(
                LimitKind.SENDER,
                f"sender: {_bytes(position - sent)} wait to be sent though the receivers allow "
                f"{_bytes(max(sender.window or 0, 0))}: the driver's sender or its socket is slow",
            )
        if window <= 0:
            return Limit(
                LimitKind.PUBLISHER_WINDOW,
                "publisher window: all of it is used and the sender keeps up: the publisher is "
                "faster than its term window lets it be",
            )
        return self.of_receivers()

    def _of_sender(self, sender: Sender, *, waiting: int) -> Limit | None:
        """A sender that may not send what waits, or could not a moment ago."""
        allowed = sender.window
        if allowed is None:
            return None
        events = self._more_back_pressure(sender)
        if not (allowed < _FRAME and waiting > 0) and not events:
            return None
        if sender.tracked_receivers == 0:
            return Limit(
                LimitKind.FLOW_CONTROL,
                "flow control: it tracks no receiver yet and waits for its group",
            )
        told = f"{_bytes(waiting)} wait to be sent, {_bytes(max(allowed, 0))} are allowed"
        if events:
            told = f"the sender met its limit {_times(events)} in {self.interval_s:.1f} s, {told}"
        for receiver in self.stream.receivers:
            found = self._of_receiver(receiver, held=True) or _congestion(receiver, told)
            if found is not None:
                return found
        if self.stream.receivers:
            return Limit(
                LimitKind.RECEIVER_WINDOW,
                f"receiver window: {told}, and the subscribers here keep up: the window is small "
                "for this rate",
            )
        return Limit(
            LimitKind.FLOW_CONTROL,
            f"flow control: {told}: a receiver elsewhere is slow or its window small",
        )

    def _more_back_pressure(self, sender: Sender) -> int:
        before = self.previous.sender if self.previous is not None else None
        if before is None:
            return 0
        return max(0, (sender.back_pressure_events or 0) - (before.back_pressure_events or 0))

    def of_receivers(self) -> Limit | None:
        """Images in this driver."""
        for receiver in self.stream.receivers:
            found = self._of_receiver(receiver)
            if found is not None:
                return found
        return None

    def _of_receiver(self, receiver: Receiver, *, held: bool = False) -> Limit | None:
        """An image: a slow subscriber, or a gap. Half a window is slow where the sender waits."""
        hwm = receiver.hwm or 0
        for reader in self.stream.readers_of(receiver.registration_id)[:1]:
            behind = min(hwm, receiver.position or hwm) - reader.position
            window = self._window(receiver, reader)
            if behind >= window // 2 if held else behind >= window - window // 4:
                return _slow(reader, behind, f"the receiver's window is {_bytes(window)}")
        naks = self._more_naks(receiver)
        if receiver.missing > 0 and (naks or self._stands(receiver)):
            within = f" in {self.interval_s:.1f} s" if self.previous is not None else ""
            asked = f", asked for again {_times(naks)}{within}" if naks else ""
            return Limit(
                LimitKind.LOSS,
                f"loss: {_bytes(receiver.missing)} up to the highest position seen are not "
                f"complete{asked}",
            )
        return None

    def _window(self, receiver: Receiver, reader: Subscriber) -> int:
        """What the receiver lets be sent beyond what its slowest subscriber has read."""
        sender = self.stream.sender
        if receiver.window_length is not None:
            return receiver.window_length
        if sender is not None and sender.limit is not None and sender.limit > reader.position:
            return sender.limit - reader.position
        return _DEFAULT_WINDOW

    def _before(self, receiver: Receiver) -> Receiver | None:
        if self.previous is None:
            return None
        for one in self.previous.receivers:
            if one.registration_id == receiver.registration_id:
                return one
        return None

    def _more_naks(self, receiver: Receiver) -> int:
        before = self._before(receiver)
        if before is None:
            # With a single look there is no telling when: a gap now and NAKs ever must do.
            return receiver.naks_sent or 0
        return max(0, (receiver.naks_sent or 0) - (before.naks_sent or 0))

    def _stands(self, receiver: Receiver) -> bool:
        before = self._before(receiver)
        return before is not None and before.position == receiver.position


def reader_text(reader: Subscriber) -> str:
    """The name of a reader in words."""
    if reader.recording_id is not None:
        return f"recording {reader.recording_id} (subscription {reader.registration_id})"
    name = f" '{reader.client_name}'" if reader.client_name else ""
    kind = "spy" if reader.is_spy else "subscription"
    return f"{kind} {reader.registration_id} of client {reader.client_id}{name}"


def _slow(reader: Subscriber, behind: int, why: str) -> Limit:
    return Limit(
        LimitKind.SLOW_SUBSCRIBER,
        f"slow subscriber: {reader_text(reader)} is {_bytes(behind)} behind; {why}",
    )


def _nobody() -> Limit:
    return Limit(LimitKind.NO_SUBSCRIBER, "no subscriber: nobody is connected")


def _is_used_up(window: int, in_flight: int) -> bool:
    """Whether so little of a window is left that its owner has to wait now and then."""
    return window <= 0 or (in_flight > 0 and window * (_LEFT_PART - 1) < in_flight)


def _congestion(receiver: Receiver, told: str) -> Limit | None:
    window = receiver.congestion_window
    if window is None:
        return None
    rtt = receiver.round_trip_ns
    trip = f" at a round trip of {rtt / NS_PER_MS:.2f} ms" if rtt else ""
    return Limit(
        LimitKind.CONGESTION,
        f"congestion: congestion control has the window at {_bytes(window)}{trip}; {told}",
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _bytes(count: int) -> str:
    return f"{count:,} bytes" if count != 1 else "1 byte"
