"""Fingerprints: xxh3 (64 bits) over the recorded bytes of a segment, from its first byte on."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

from aerolog.transport.errors import MissingExtraError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerolog.transport.memory.filesystem import FileSystem

EXTRA: Final = "verify"
_BLOCK_LENGTH: Final = 1024 * 1024


class Hash(Protocol):
    """A hash that is being computed."""

    def update(self, data: Buffer, /) -> None:
        """Go on with more bytes."""

    def intdigest(self) -> int:
        """The hash of all bytes so far, 64 bits without a sign."""


def new_hash(purpose: str = "a fingerprint of segments") -> Hash:
    """A hash of nothing yet.

    Args:
        purpose: what needs it, the subject of the error's sentence.

    Raises:
        MissingExtraError: xxhash is not installed.
    """
    try:
        module = import_module("xxhash")
    except ModuleNotFoundError as error:
        if error.name != "xxhash":
            raise
        raise MissingExtraError(EXTRA, purpose) from error
    made: Hash = module.xxh3_64()
    return made


def fingerprint_text(value: int) -> str:
    """A fingerprint as people and the SQL catalog write it: 16 hexadecimal digits."""
    return f"{value:016x}"


def file_fingerprint(files: FileSystem, path: str, length: int) -> int | None:
    """Fingerprint of the first bytes of a file, None where it is shorter.

    Args:
        files: the file system to use.
        path: of the file.
        length: bytes that count.

    Raises:
        FileNotFoundError: there is none.
        MissingExtraError: xxhash is not installed.
    """
    found = new_hash()
    with files.open_data_file(path) as file:
        if file.file_size() < length:
            return None
        at = 0
        while at < length:
            block = file.read_at(min(_BLOCK_LENGTH, length - at), at)
            if not block:
                return None  # cut off meanwhile
            found.update(block)
            at += len(block)
    return found.intdigest()
