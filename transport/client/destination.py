"""Destinations of manual-control publications and subscriptions (spec client 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from aerolog.transport.client.registration import RegistrationFuture, ResourceKind
from aerolog.transport.protocol import commands

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from aerolog.transport.client.client_conductor import ClientConductor
    from aerolog.transport.client.publication import BasePublication
    from aerolog.transport.client.subscription import Subscription


def _nothing(_: object) -> None:
    """The result of an answer without content."""


class Destination:
    """One destination that was added; leaving its ``with`` block removes it.

    Attributes:
        channel: the destination's channel.
        registration_id: the id of the command that added it.
        future: done when the driver has added it; raises the error when the driver refused it.
    """

    def __init__(
        self,
        channel: str,
        future: RegistrationFuture[None],
        conductor: ClientConductor,
        remove: Callable[[int, int], commands.Command],
    ) -> None:
        self.channel = channel
        self.future = future
        self.registration_id = future.registration_id
        self.removed = False
        self._conductor = conductor
        self._remove = remove

    @classmethod
    def add_to_publication(
        cls,
        publication: BasePublication,
        conductor: ClientConductor,
        channel: str,
        wait: bool,
        timeout: float | None,
    ) -> Self:
        """Add a destination to which a publication's stream is sent."""
        client_id, publication_id = conductor.client_id, publication.original_registration_id
        return cls._add(
            conductor,
            channel,
            lambda i: commands.AddDestination(client_id, i, publication_id, channel),
            lambda i, own: commands.RemoveDestinationById(client_id, i, publication_id, own),
            wait=wait,
            timeout=timeout,
        )

    @classmethod
    def add_to_subscription(
        cls,
        subscription: Subscription,
        conductor: ClientConductor,
        channel: str,
        wait: bool,
        timeout: float | None,
    ) -> Self:
        """Add a destination from which a subscription receives its stream."""
        client_id, subscription_id = conductor.client_id, subscription.registration_id
        return cls._add(
            conductor,
            channel,
            lambda i: commands.AddReceiveDestination(client_id, i, subscription_id, channel),
            lambda i, _: commands.RemoveReceiveDestination(client_id, i, subscription_id, channel),
            wait=wait,
            timeout=timeout,
        )

    @classmethod
    def _add(
        cls,
        conductor: ClientConductor,
        channel: str,
        add: Callable[[int], commands.Command],
        remove: Callable[[int, int], commands.Command],
        *,
        wait: bool,
        timeout: float | None,
    ) -> Self:
        conductor.check_keys(channel)
        future = conductor.submit(ResourceKind.DESTINATION, add, _nothing)
        try:
            if wait:
                conductor.await_answer(future, timeout)
            return cls(channel, future, conductor, remove)
        finally:
            del future  # as in ``RegistrationFuture.result``

    @staticmethod
    def remove_from_publication(
        publication: BasePublication,
        conductor: ClientConductor,
        channel_or_id: str | int,
        timeout: float | None,
    ) -> None:
        """Stop sending a publication's stream to a channel, or to a destination by its id."""
        client_id, publication_id = conductor.client_id, publication.original_registration_id

        def command(correlation_id: int) -> commands.Command:
            if isinstance(channel_or_id, int):
                return commands.RemoveDestinationById(
                    client_id, correlation_id, publication_id, channel_or_id
                )
            return commands.RemoveDestination(
                client_id, correlation_id, publication_id, str(channel_or_id)
            )

        conductor.call(ResourceKind.DESTINATION, command, _nothing, timeout)

    @staticmethod
    def remove_from_subscription(
        subscription: Subscription,
        conductor: ClientConductor,
        channel: str,
        timeout: float | None,
    ) -> None:
        """Stop receiving a subscription's stream from a channel."""
        client_id, subscription_id = conductor.client_id, subscription.registration_id
        conductor.call(
            ResourceKind.DESTINATION,
            lambda i: commands.RemoveReceiveDestination(client_id, i, subscription_id, channel),
            _nothing,
            timeout,
        )

    def remove(self, *, wait: bool = True, timeout: float | None = None) -> None:
        """Remove the destination; a second call does nothing.

        Args:
            wait: whether to wait for the driver's answer; otherwise the answer is ignored.
            timeout: seconds to wait; None for the driver timeout.
        """
        if self.removed:
            return
        self.removed = True
        own, conductor = self.registration_id, self._conductor
        if wait:
            conductor.call(
                ResourceKind.DESTINATION, lambda i: self._remove(i, own), _nothing, timeout
            )
        else:
            conductor.submit(ResourceKind.DESTINATION, lambda i: self._remove(i, own), _nothing)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._conductor.closed:
            self.remove()

    def __repr__(self) -> str:
        state = " removed" if self.removed else ""
        return f"<Destination {self.channel} registration_id={self.registration_id}{state}>"
