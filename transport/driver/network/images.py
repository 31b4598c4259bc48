"""Images of UDP streams as the conductor's control part sees them. Conductor only."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerolog.transport.driver.network.image import NetworkImage
    from aerolog.transport.driver.network.parts import NetworkParts
    from aerolog.transport.driver.network.subscriptions import Subscriptions


class Images:
    """All images of a driver."""

    def __init__(self, parts: NetworkParts, subscriptions: Subscriptions) -> None:
        self._parts = parts
        self._subscriptions = subscriptions

    def find(self, correlation_id: int) -> NetworkImage | None:
        """The image of that id."""
        return None

    def reject(self, correlation_id: int, reason: str) -> bool:
        """Have an image tell its sender why it is not wanted; False when there is none."""
        return False

    def check_response_requested(self, correlation_id: int) -> None:
        """Refuse a response publication whose image is unknown, or asked for no response.

        Raises:
            CommandError: with the reference's text.
        """

    def set_response_session(self, correlation_id: int, session_id: int | None) -> None:
        """Have an image tell its sender the session of the answer, or stop telling it.

        An image that is gone is no error.
        """

    def on_timer(self) -> None:
        """Let every image have its timer event, the last one first."""

    def on_receiver_events(self) -> int:
        """Take what the receiver reports; returns a work count."""
        return 0

    def report_refused_room(self) -> None:
        """Record every image whose log did not get room for its next term."""

    def close(self) -> None:
        """Let go of all logs; the receiver has ended."""
