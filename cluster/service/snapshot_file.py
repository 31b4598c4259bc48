"""The snapshot of a service, as a file and as messages (spec cluster 16)."""

from __future__ import annotations

import io
import sys
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Buffer

#: Bytes behind the current ones that a reader can be sought back over, and those of a peek.
_WINDOW: Final = 1 << 16


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
        self._length = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Buffer, /) -> int:
        """Append bytes; returns their number."""
        pending = self._pending
        before = len(pending)
        pending += data
        written = len(pending) - before
        self._length += written
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
        message = bytes(data)
        self._send(message)
        self._length += len(message)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._length

    def flush(self) -> None:
        """Publish what was written and is not published yet."""
        if self._pending:
            self._send(bytes(self._pending))
            self._pending.clear()


class SnapshotReader(io.BufferedIOBase):
    """Gives back what a service wrote into its snapshot, as a binary file or as messages.

    It can be sought forwards, and backwards over the last 64 KiB, as ``numpy.load`` does. Who seeks
    from the end, as readers of zip and Parquet files do, has all that is left in memory from then
    on, and may seek everywhere in it.
    """

    def __init__(self, messages: Iterator[bytes]) -> None:
        super().__init__()
        self._messages = messages
        self._behind: deque[bytes] = deque()  # what was read, as far back as can be sought
        self._behind_length = 0
        self._current = b""
        self._at = 0  # in what is current
        self._ahead: deque[bytes] = deque()  # what was taken from the messages before its turn
        self._start = 0  # offset in the file at which what is current begins
        self._is_kept = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True; see the class for how far back."""
        return True

    def messages(self) -> Iterator[bytes]:
        """Iterate over the messages that are left."""
        rest = self._current[self._at :]
        self._at = len(self._current)
        if rest:
            yield rest
        while self._advance():
            self._at = len(self._current)
            yield self._current

    def peek(self, size: int = 0, /) -> bytes:
        """Return bytes that come next without reading them; none at the end."""
        self._fill()
        return self._current[self._at : self._at + max(size, _WINDOW)]

    def read(self, size: int | None = -1, /) -> bytes:
        """Return so many bytes, fewer only at the end; all that are left without a size."""
        wanted = sys.maxsize if size is None or size < 0 else size
        parts = []
        while wanted and self._fill():
            part = self._current[self._at : self._at + wanted]
            self._at += len(part)
            wanted -= len(part)
            parts.append(part)
        return b"".join(parts)

    def read1(self, size: int = -1, /) -> bytes:
        """Return at most so many bytes, of the message that comes next."""
        self._fill()
        left = len(self._current) - self._at
        return self.read(left if size < 0 else min(size, left))

    def tell(self) -> int:
        """Return how many bytes stand before the next one."""
        return self._start + self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to an offset, but not beyond the end; returns where it is then.

        Raises:
            ValueError: an offset before the start, or an unknown whence.
            io.UnsupportedOperation: what stands there is no longer kept.
        """
        if whence == io.SEEK_CUR:
            offset += self.tell()
        elif whence == io.SEEK_END:
            self._is_kept = True
            self._ahead.extend(self._messages)
            offset += self._start + len(self._current) + sum(map(len, self._ahead))
        elif whence != io.SEEK_SET:
            raise ValueError(f"whence {whence} is none of 0, 1 and 2")
        if offset < 0:
            raise ValueError(f"offset {offset} is before the start of the snapshot")
        first = self._start - self._behind_length
        if offset < first:
            raise io.UnsupportedOperation(
                f"offset {offset} of the snapshot is no longer kept, the first that is is {first}:"
                " give io.BytesIO(snapshot.read()) to who seeks that far"
            )
        while offset < self._start:
            self._ahead.appendleft(self._current)
            self._current = self._behind.pop()
            self._behind_length -= len(self._current)
            self._start -= len(self._current)
        self._at = min(offset - self._start, len(self._current))
        while self.tell() < offset and self._fill():
            self._at = min(offset - self._start, len(self._current))
        return self.tell()

    def _fill(self) -> bool:
        """Return whether there is a next byte, which then is in what is current."""
        while self._at == len(self._current):
            if not self._advance():
                return False
        return True

    def _advance(self) -> bool:
        """Make the next message the current one; returns whether there is one."""
        found = self._ahead.popleft() if self._ahead else next(self._messages, None)
        if found is None:
            return False
        self._behind.append(self._current)
        self._behind_length += len(self._current)
        while not self._is_kept and self._behind_length - len(self._behind[0]) >= _WINDOW:
            self._behind_length -= len(self._behind.popleft())
        self._start += len(self._current)
        self._current, self._at = found, 0
        return True
