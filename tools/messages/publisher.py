"""Sends batches of messages at a rate, waiting where the stream makes it wait."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerolog.tools.connection.idle import sleeping_idle
from aerolog.transport.concurrent.clock import Clock, SystemClock
from aerolog.transport.concurrent.deadline import Deadline
from aerolog.transport.errors import MessageTooLargeError, NotConnectedError
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aerolog.transport.client import ExclusivePublication

_RATED_BATCH_S = 0.01


@dataclass(slots=True)
class Published:
    """What has been sent.

    Attributes:
        messages: how many messages.
        payload_bytes: the bytes in them.
    """

    messages: int = 0
    payload_bytes: int = 0


class MessagePublisher:
    """Sends messages in order.

    Attributes:
        published: what has been sent.
    """

    def __init__(
        self,
        publication: ExclusivePublication,
        *,
        rate: float | None = None,
        reconnect_timeout: float = 10.0,
        on_progress: Callable[[Published], object] | None = None,
        watch: Callable[[], None],
        clock: Clock | None = None,
    ) -> None:
        """Makes a publisher.

        Args:
            publication: the publication to send with.
            rate: messages a second, None for as fast as the stream takes them.
            reconnect_timeout: seconds without a subscriber after which it gives up.
            on_progress: called now and then.
            watch: raises when the driver is gone.
            clock: tells the time; the machine's by default.
        """
        self.published = Published()
        self._publication = publication
        self._rate = rate
        self._reconnect_timeout = reconnect_timeout
        self._on_progress = on_progress
        self._watch = watch
        self._clock = clock or SystemClock()
        self._begin_ns = self._clock.now_ns()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the first message."""
        return (self._clock.now_ns() - self._begin_ns) / NS_PER_S

    def send(self, batches: Iterator[list[bytes]]) -> None:
        """Sends all messages.

        Raises:
            NotConnectedError: no subscriber for too long.
            MessageTooLargeError: a message is longer than the publication can carry.
        """
        self._begin_ns = self._clock.now_ns()
        for batch in batches:
            for part in self._paced(batch):
                self._send_all(part)
                if self._on_progress is not None:
                    self._on_progress(self.published)

    def _paced(self, batch: list[bytes]) -> Iterator[list[bytes]]:
        if self._rate is None:
            yield batch
            return
        step = max(1, int(self._rate * _RATED_BATCH_S))
        for at in range(0, len(batch), step):
            wait = self.published.messages / self._rate - self.elapsed_s
            if wait > 0:
                time.sleep(wait)
            yield batch[at : at + step]

    def _send_all(self, messages: list[bytes]) -> None:
        self._check_lengths(messages)
        idle = sleeping_idle()
        sent = 0
        deadline: Deadline | None = None
        while sent < len(messages):
            accepted = self._publication.offer_many(messages[sent:] if sent else messages)
            if accepted > 0:
                self._count(messages[sent : sent + accepted])
                sent += accepted
                deadline = None
                continue
            self._watch()
            if not self._publication.is_connected:
                deadline = deadline or Deadline(self._reconnect_timeout)
                if deadline.is_over:
                    raise NotConnectedError(
                        f"no subscriber on {self._publication.channel} stream "
                        f"{self._publication.stream_id} for {self._reconnect_timeout:g} s, "
                        f"after {self.published.messages} messages"
                    )
            idle(0)

    def _check_lengths(self, messages: list[bytes]) -> None:
        longest = self._publication.max_message_length
        for index, message in enumerate(messages):
            if len(message) > longest:
                raise MessageTooLargeError(
                    f"message {self.published.messages + index} has {len(message)} bytes, "
                    f"the publication carries {longest}: use a longer term-length"
                )

    def _count(self, messages: list[bytes]) -> None:
        self.published.messages += len(messages)
        self.published.payload_bytes += sum(map(len, messages))
