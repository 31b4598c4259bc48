"""The snapshot of a service, as a file and as messages (spec cluster 16)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Buffer


class SnapshotWriter(io.BufferedIOBase):
    """Takes what a service writes into its snapshot.

    It is a binary file for writing, for ``pickle.dump`` and the like. ``write_message`` keeps the
    bounds of messages; ``SnapshotReader.messages`` gives them back. Use one form of the two.

    Args:
        send: publishes one message, and waits until there is room for it.
        chunk_length: bytes in each message of what ``write`` got.
    """

    def __init__(self, send: Callable[[bytes], object], chunk_length: int) -> None:
        super().__init__()
        self._send = send
        self._chunk_length = chunk_length
        self._pending = bytearray()

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Buffer, /) -> int:
        """Append bytes; returns their number."""
        pending = self._pending
        before = len(pending)
        pending += data
        written = len(pending) - before
        length = self._chunk_length
        at = 0
        while len(pending) - at >= length:
            self._send(bytes(pending[at : at + length]))
            at += length
        del pending[:at]
        return written

    def write_message(self, data: Buffer) -> None:
        """Append a message, which ``SnapshotReader.messages`` gives back as it is."""
        self.flush()
        self._send(bytes(data))

    def flush(self) -> None:
        """Publish what was written and is not published yet."""
        if self._pending:
            self._send(bytes(self._pending))
            self._pending.clear()


class SnapshotReader(io.BufferedIOBase):
    """Gives back what a service wrote into its snapshot, as a binary file or as messages."""

    def __init__(self, messages: Iterator[bytes]) -> None:
        super().__init__()
        self._messages = messages
        self._pending = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def messages(self) -> Iterator[bytes]:
        """Iterate over the messages that are left."""
        if self._pending:
            pending, self._pending = self._pending, b""
            yield pending
        yield from self._messages

    def peek(self, size: int = 0, /) -> bytes:  # noqa: ARG002 - as in the standard library
        """Return bytes that come next without reading them; none at the end."""
        while not self._pending:
            found = next(self._messages, None)
            if found is None:
                break
            self._pending = found
        return self._pending

    def read(self, size: int | None = -1, /) -> bytes:
        """Return so many bytes, fewer only at the end; all that are left without a size."""
        parts = []
        wanted = -1 if size is None or size < 0 else size
        while wanted and self.peek():
            part = self._pending if wanted < 0 else self._pending[:wanted]
            self._pending = self._pending[len(part) :]
            wanted -= len(part) if wanted > 0 else 0
            parts.append(part)
        return b"".join(parts)

    def read1(self, size: int = -1, /) -> bytes:
        """Return at most so many bytes, of the message that comes next."""
        part = self.peek()
        return self.read(len(part) if size < 0 else min(size, len(part)))
