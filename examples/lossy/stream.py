"""The messages: any number of them from a seed, and the digest by which they are compared."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SHORTEST = 16


def messages(count: int, longest: int, seed: int) -> list[bytes]:
    """Random bytes, ``SHORTEST`` to ``longest`` a message."""
    source = random.Random(seed)
    return [source.randbytes(source.randint(SHORTEST, longest)) for _ in range(count)]


class Digest:
    """SHA-256 of messages with their lengths, so that their borders count as well.

    Attributes:
        count: messages so far.
        size: their bytes.
    """

    def __init__(self) -> None:
        self.count = 0
        self.size = 0
        self._hash = hashlib.sha256()

    def add(self, message: bytes) -> None:
        """The next message."""
        self.count += 1
        self.size += len(message)
        self._hash.update(len(message).to_bytes(4, "little"))
        self._hash.update(message)

    @classmethod
    def of(cls, found: Iterable[bytes]) -> Digest:
        """Of all of them."""
        digest = cls()
        for message in found:
            digest.add(message)
        return digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Digest) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __str__(self) -> str:
        return f"{self.count:,} messages, {self.size:,} bytes, sha256 {self._hash.hexdigest()}"
