"""The two control streams of a client: requests out, responses in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.archive.protocol import decode
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.errors import (
    MaxPositionExceededError,
    MessageFormatError,
    NotConnectedError,
    ResourceClosedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.protocol import Message
    from aerolog.transport.client.publication import ExclusivePublication
    from aerolog.transport.client.subscription import Subscription

FRAGMENT_LIMIT = 10


class ControlStream:
    """Sends requests on a publication and reads responses from a subscription.

    Bytes that are no message of the schema are reported and skipped, since anybody may publish to
    the response stream.
    """

    def __init__(
        self,
        publication: ExclusivePublication,
        subscription: Subscription,
        on_error: Callable[[BaseException], object] | None,
    ) -> None:
        self.publication = publication
        self.subscription = subscription
        self._on_error = on_error

    @property
    def is_connected(self) -> bool:
        """Whether the archive's responses can still come."""
        return not self.subscription.closed and self.subscription.is_connected

    def offer(self, request: bytes) -> bool:
        """Send a request; False when the stream cannot take it now.

        Raises:
            NotConnectedError: the archive does not take requests any more.
            ResourceClosedError: this client is closed.
            MaxPositionExceededError: the request stream has been used up.
        """
        result = self.publication.offer(request)
        if result > 0:
            return True
        if result == OfferStatus.NOT_CONNECTED:
            raise NotConnectedError("connection to the archive is no longer available")
        if result == OfferStatus.CLOSED:
            raise ResourceClosedError("connection to the archive has been closed")
        if result == OfferStatus.MAX_POSITION_EXCEEDED:
            raise MaxPositionExceededError(
                "offer failed due to max position being reached: "
                f"term-length={self.publication.term_length}"
            )
        return False

    def poll(self) -> list[Message]:
        """The messages that have come, oldest first, one batch at most."""
        if self.subscription.closed:
            return []
        messages = []
        for received in self.subscription.poll_messages(FRAGMENT_LIMIT):
            try:
                message = decode(received.data)
            except MessageFormatError as error:
                self.report(error)
                continue
            if message is not None:
                messages.append(message)
        return messages

    def report(self, error: BaseException) -> None:
        """Report an error that belongs to no request."""
        if self._on_error is not None:
            self._on_error(error)

    def close(self) -> None:
        """Close both streams."""
        self.subscription.close()
        self.publication.close()
