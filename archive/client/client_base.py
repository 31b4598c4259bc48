"""The base class of both archive clients: it holds the conversation and tells its state."""

from __future__ import annotations

import warnings
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from aerolog.archive.client.conversation import Conversation
from aerolog.archive.client.options import ArchiveClientOptions
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from aerolog.archive.client.client_session import ArchiveClientStats

PAGE: Final = 256


class ArchiveClientState(Enum):
    """The states of an archive client (spec archive-protocol 21.4)."""

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    CLOSED = "closed"


class ArchiveClientBase:
    """A client with at most one session.

    Attributes:
        options: the options, checked when the client was made.
        conversation: the conversation with the archive, which holds the session.
    """

    def __init__(self, aeron: Aeron | None, aeron_dir: str | None, options: dict[str, Any]) -> None:
        self.options = ArchiveClientOptions.of(**options)
        renew = partial(Aeron, aeron_dir, name=self.options.name or "archive-client")
        self.conversation = (
            Conversation(renew(), self.options, renew)
            if aeron is None
            else Conversation(aeron, self.options)
        )

    @property
    def aeron(self) -> Aeron:
        """The transport client in use."""
        return self.conversation.aeron

    @property
    def control_session_id(self) -> int:
        """The archive's id of this session."""
        return self.conversation.usable().control_session_id

    @property
    def archive_id(self) -> int:
        """The archive's own id, -1 when it is too old to tell."""
        return self.conversation.usable().archive_id

    @property
    def last_correlation_id(self) -> int:
        """Correlation id of the last request, which its signals and later errors carry too."""
        return self.conversation.usable().last_correlation_id

    @property
    def state(self) -> ArchiveClientState:
        """CONNECTED, DISCONNECTED once the archive was found to be gone, or CLOSED."""
        if self.closed:
            return ArchiveClientState.CLOSED
        if self.is_disconnected:
            return ArchiveClientState.DISCONNECTED
        return ArchiveClientState.CONNECTED

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self.conversation.closed or self.conversation.session is None

    @property
    def is_disconnected(self) -> bool:
        """Whether the archive was found to be gone; `reconnect` connects anew."""
        return self.conversation.is_disconnected

    @property
    def stats(self) -> ArchiveClientStats:
        """Requests, answers and round trips since the client was made."""
        return self.conversation.known().stats

    def __del__(self) -> None:
        conversation: Conversation | None = getattr(self, "conversation", None)
        if conversation is None or conversation.session is None or conversation.closed:
            return
        if not conversation.aeron.conductor.forked:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
            conversation.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            f"{type(self).__name__} cannot be pickled: connect anew in the other process"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.options.request_channel} {self.state.value}>"
