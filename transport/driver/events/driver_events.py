"""A driver's event log: the events of the conductor, and the logs for the threads of the agents.

The property ``aeron.event.log`` switches it on. Without it the driver has `NO_EVENTS`, which drops
all events, and the sender, the receiver and their ports are made without a log.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from aerolog.transport.driver.events.event_lines import COMMAND_EVENTS, RESPONSE_EVENTS, dissect
from aerolog.transport.events.component_events import ComponentEvents, EventComponent
from aerolog.transport.events.event_codes import DRIVER, DRIVER_GROUPS, DriverEventCode
from aerolog.transport.events.event_fields import text_field
from aerolog.transport.events.event_log import StreamEvents
from aerolog.transport.events.properties import EVENT_LOG, EVENT_LOG_DISABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.events.event_log import EventLog
    from aerolog.transport.network.addresses import SocketAddress
    from aerolog.transport.network.host_names import IpAddress, NameResolver
    from aerolog.transport.network.udp_channel import UdpChannel

E = DriverEventCode
_COMPONENT: Final = EventComponent(
    DRIVER, "DRIVER", DriverEventCode, EVENT_LOG, EVENT_LOG_DISABLE, dissect, DRIVER_GROUPS
)


class DriverEvents:
    """The events of a driver; they are dropped unless they are `WrittenDriverEvents`."""

    def close(self) -> None:
        """Write the events that are still buffered."""

    def wants(self, *events: DriverEventCode) -> bool:
        """Return whether any of these events is logged."""
        del events
        return False

    @property
    def logs_names(self) -> bool:
        """Whether calls of name resolvers are logged."""
        return self.wants(E.NAME_RESOLUTION_LOOKUP, E.NAME_RESOLUTION_RESOLVE)

    def _write(self, event: DriverEventCode, payload: bytes) -> None:
        """Write an event, if it is to be logged."""

    def command(self, type_id: int, message: bytes) -> None:
        """Log a command that the conductor is about to handle."""
        event = COMMAND_EVENTS.get(type_id)
        if event is not None:
            self._write(event, message)

    def response(self, type_id: int, message: bytes) -> None:
        """Log a message to all clients."""
        event = RESPONSE_EVENTS.get(type_id)
        if event is not None:
            self._write(event, message)

    def publication_removed(self, session_id: int, stream_id: int, channel: str) -> None:
        """Log the removal of a publication."""
        self._write(
            E.REMOVE_PUBLICATION_CLEANUP,
            struct.pack("<ii", session_id, stream_id) + text_field(channel),
        )

    def subscription_removed(self, stream_id: int, registration_id: int, channel: str) -> None:
        """Log the removal of a subscription."""
        self._write(
            E.REMOVE_SUBSCRIPTION_CLEANUP,
            struct.pack("<iq", stream_id, registration_id) + text_field(channel),
        )

    def image_removed(
        self, session_id: int, stream_id: int, correlation_id: int, channel: str
    ) -> None:
        """Log the removal of an image of a network stream."""
        self._write(
            E.REMOVE_IMAGE_CLEANUP,
            struct.pack("<iiq", session_id, stream_id, correlation_id) + text_field(channel),
        )

    def send_channel(self, channel: UdpChannel, *, is_open: bool) -> None:
        """Log the creation or the closing of a send endpoint."""
        event = E.SEND_CHANNEL_CREATION if is_open else E.SEND_CHANNEL_CLOSE
        self._write(event, text_field(_channel_text(channel)))

    def receive_channel(self, channel: UdpChannel, *, is_open: bool) -> None:
        """Log the creation or the closing of a receive endpoint."""
        event = E.RECEIVE_CHANNEL_CREATION if is_open else E.RECEIVE_CHANNEL_CLOSE
        self._write(event, text_field(_channel_text(channel)))

    def untethered(
        self, subscription_id: int, stream_id: int, session_id: int, old: str, new: str
    ) -> None:
        """Log the change of state of an untethered subscriber."""
        self._write(
            E.UNTETHERED_SUBSCRIPTION_STATE_CHANGE,
            struct.pack("<qii", subscription_id, stream_id, session_id)
            + text_field(f"{old} -> {new}"),
        )

    def looked_up(
        self, resolver: str, duration_ns: int, name: str, found: str, *, is_again: bool
    ) -> None:
        """Log the lookup of an address text by a resolver."""
        self._write(
            E.NAME_RESOLUTION_LOOKUP,
            b"".join(
                (
                    text_field(resolver),
                    struct.pack("<q", duration_ns),
                    text_field(name),
                    struct.pack("<b", is_again),
                    text_field(found),
                )
            ),
        )

    def resolved(
        self, resolver: str, duration_ns: int, name: str, found: IpAddress | None, *, is_again: bool
    ) -> None:
        """Log the resolution of a host name by a resolver."""
        host = b"" if found is None else found.packed
        self._write(
            E.NAME_RESOLUTION_RESOLVE,
            b"".join(
                (
                    text_field(resolver),
                    struct.pack("<q", duration_ns),
                    text_field(name),
                    struct.pack("<bi", is_again, len(host)),
                    host,
                )
            ),
        )

    def neighbor(self, address: SocketAddress, *, is_there: bool) -> None:
        """Log that another driver's name resolver has appeared or has gone."""
        host = address.ip.packed
        event = E.NAME_RESOLUTION_NEIGHBOR_ADDED if is_there else E.NAME_RESOLUTION_NEIGHBOR_REMOVED
        self._write(event, struct.pack("<ii", address.port, len(host)) + host)

    def revoked(self, position: int, session_id: int, stream_id: int, channel: str) -> None:
        """Log the revocation of a publication."""
        self._revoked(E.PUBLICATION_REVOKE, position, session_id, stream_id, channel)

    def image_revoked(self, position: int, session_id: int, stream_id: int, channel: str) -> None:
        """Log that the publication of an image was revoked."""
        self._revoked(E.PUBLICATION_IMAGE_REVOKE, position, session_id, stream_id, channel)

    def _revoked(
        self, event: DriverEventCode, position: int, session_id: int, stream_id: int, channel: str
    ) -> None:
        self._write(
            event, struct.pack("<qii", position, session_id, stream_id) + text_field(channel)
        )

    def text(self, text: str) -> None:
        """Log what an operator may want to know, as a parameter or a setting that has no effect."""
        self._write(E.TEXT_DATA, text_field(text))

    def stream(self, session_id: int, stream_id: int, channel: str) -> StreamEvents | None:
        """Return the log for a publication's events in the sender; None when none is logged."""
        del session_id, stream_id, channel
        return None

    @property
    def log(self) -> EventLog | None:
        """The log of the ports' events; None when no event is logged."""
        return None


#: The events of a driver that logs nothing.
NO_EVENTS: Final = DriverEvents()


class WrittenDriverEvents(ComponentEvents[DriverEventCode], DriverEvents):
    """Logs some of a driver's events."""

    @property
    def log(self) -> EventLog:
        """The log that the events are written to."""
        assert self._log is not None
        return self._log

    def wants(self, *events: DriverEventCode) -> bool:
        """Return whether any of these events is logged."""
        return any(event in self._events for event in events)

    def stream(self, session_id: int, stream_id: int, channel: str) -> StreamEvents | None:
        """Return the log for a publication's events in the sender; None when none is logged."""
        if not self.wants(E.RESEND, E.FLOW_CONTROL_RECEIVER_ADDED, E.FLOW_CONTROL_RECEIVER_REMOVED):
            return None
        return StreamEvents(
            self.log,
            session_id,
            stream_id,
            channel,
            resend=self.code(E.RESEND),
            receiver_added=self.code(E.FLOW_CONTROL_RECEIVER_ADDED),
            receiver_removed=self.code(E.FLOW_CONTROL_RECEIVER_REMOVED),
        )


def driver_events(settings: Settings, clock: Clock) -> DriverEvents:
    """Return the event log that a driver's properties ask for.

    The name of an unknown event is reported on stderr and skipped.

    Args:
        settings: the driver's configuration.
        clock: the source of the events' times.

    Raises:
        ConfigurationError: a buffer length that is not a power of two.
        OSError: the file cannot be opened.
    """
    found = _COMPONENT.hold(settings, clock)
    return NO_EVENTS if found is None else WrittenDriverEvents(_COMPONENT, *found)


def _channel_text(channel: UdpChannel) -> str:
    """Return an endpoint's local and remote address in the reference's format."""
    return (
        f"localData: {channel.local_data.label}, remoteData: {channel.remote_data.label}, "
        f"ttl: {channel.multicast_ttl or 0}"
    )


class LoggedResolver:
    """A name resolver that logs the calls of another one and their results.

    Args:
        delegate: the resolver that answers the calls.
        now_ns: returns monotonic time, to measure how long a call takes.
        events: the driver's event log.
    """

    def __init__(
        self, delegate: NameResolver, now_ns: Callable[[], int], events: DriverEvents
    ) -> None:
        self._delegate = delegate
        self._now_ns = now_ns
        self._events = events
        self._shown = delegate.name.rpartition(".")[2]

    @property
    def name(self) -> str:
        """The name of the delegate."""
        return self._delegate.name

    @property
    def reference_class(self) -> str:
        """The reference's class name of the delegate."""
        return self._delegate.reference_class

    def lookup(self, value: str, param: str, *, is_re_lookup: bool) -> str:
        """Return the delegate's result for the value."""
        start_ns = self._now_ns()
        found = self._delegate.lookup(value, param, is_re_lookup=is_re_lookup)
        self._events.looked_up(
            self._shown, self._now_ns() - start_ns, value, found, is_again=is_re_lookup
        )
        return found

    def resolve(self, host: str, param: str, *, is_re_resolution: bool) -> IpAddress | None:
        """Return the delegate's address of the host."""
        start_ns = self._now_ns()
        found = self._delegate.resolve(host, param, is_re_resolution=is_re_resolution)
        self._events.resolved(
            self._shown, self._now_ns() - start_ns, host, found, is_again=is_re_resolution
        )
        return found
