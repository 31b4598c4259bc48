"""The leader's end of the log: every event that is written into it (spec cluster 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.protocol import (
    ClusterAction,
    ClusterActionRequest,
    NewLeadershipTermEvent,
    SessionCloseEvent,
    SessionMessageHeader,
    SessionOpenEvent,
    TimerEvent,
)
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.protocol.fixed_layout import align
from aerolog.transport.protocol.frames import DATA_HEADER_LENGTH, FRAME_ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.cluster.module.session import Session
    from aerolog.cluster.protocol import ClusterTimeUnit, Message
    from aerolog.transport.client.publication import ExclusivePublication, Publication

#: Offers before an event is left for the next duty cycle: a term's end takes one.
_ATTEMPTS: Final = 3


def offer_soon(publication: Publication | ExclusivePublication, encode: Callable[[], bytes]) -> int:
    """Offer a message, again while a term ends; the position behind it, 0 if it was not taken.

    Args:
        publication: where the message goes.
        encode: makes the message, anew for each offer.
    """
    for _ in range(_ATTEMPTS):
        result = publication.offer(encode())
        if result > 0:
            return int(result)
        if result != OfferStatus.ADMIN_ACTION:
            break
    return 0


class LogPublisher:
    """Appends events to the log; each method returns the position behind the event, 0 if it failed.

    What failed is tried again in a later duty cycle.

    Attributes:
        publication: the log's publication.
        leadership_term_id: the term of the leader.
    """

    def __init__(self, publication: ExclusivePublication, leadership_term_id: int) -> None:
        self.publication = publication
        self.leadership_term_id = leadership_term_id

    @property
    def position(self) -> int:
        """Where the next event begins, bytes."""
        position = self.publication.position
        return max(position, 0)

    def _append(self, message: Message) -> int:
        return offer_soon(self.publication, message.encode)

    def _append_with_end(self, message: Message) -> int:
        """Append an event that carries the position behind itself."""
        length = len(message.encode())

        def encode() -> bytes:
            message.log_position = self._end_of(length)  # type: ignore[attr-defined]  # these have one
            return message.encode()

        return offer_soon(self.publication, encode)

    def _end_of(self, length: int) -> int:
        """Return where a message of some bytes will end, which may be in the next term."""
        return self.position + align(length + DATA_HEADER_LENGTH, FRAME_ALIGNMENT)

    def new_leadership_term(
        self,
        *,
        timestamp: int,
        term_base_log_position: int,
        leader_member_id: int,
        time_unit: ClusterTimeUnit,
        app_version: int,
    ) -> int:
        """Append the first event of a term."""
        return self._append_with_end(
            NewLeadershipTermEvent(
                leadership_term_id=self.leadership_term_id,
                log_position=0,
                timestamp=timestamp,
                term_base_log_position=term_base_log_position,
                leader_member_id=leader_member_id,
                log_session_id=self.publication.session_id,
                time_unit=time_unit,
                app_version=app_version,
            )
        )

    def session_open(self, session: Session, timestamp: int) -> int:
        """Append the event that opens a session."""
        return self._append(
            SessionOpenEvent(
                leadership_term_id=self.leadership_term_id,
                correlation_id=session.correlation_id,
                cluster_session_id=session.session_id,
                timestamp=timestamp,
                response_stream_id=session.response_stream_id,
                response_channel=session.response_channel,
                encoded_principal=session.principal,
            )
        )

    def session_close(self, session: Session, timestamp: int) -> int:
        """Append the event that closes a session."""
        return self._append(
            SessionCloseEvent(
                leadership_term_id=self.leadership_term_id,
                cluster_session_id=session.session_id,
                timestamp=timestamp,
                close_reason=session.close_reason,
            )
        )

    def timer(self, correlation_id: int, timestamp: int) -> int:
        """Append the event of a timer that has expired."""
        return self._append(
            TimerEvent(
                leadership_term_id=self.leadership_term_id,
                correlation_id=correlation_id,
                timestamp=timestamp,
            )
        )

    def action(self, action: ClusterAction, timestamp: int) -> int:
        """Append an action of the cluster."""
        return self._append_with_end(
            ClusterActionRequest(
                leadership_term_id=self.leadership_term_id,
                log_position=0,
                timestamp=timestamp,
                action=action,
            )
        )

    def service_message(self, session_id: int, timestamp: int, payload: bytes) -> int:
        """Append a message of a service.

        Raises:
            MessageTooLargeError: it is longer than the log takes.
        """
        header = SessionMessageHeader(
            leadership_term_id=self.leadership_term_id,
            cluster_session_id=session_id,
            timestamp=timestamp,
        )
        return offer_soon(self.publication, lambda: header.encode() + payload)
