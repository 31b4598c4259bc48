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
    """A running computation of a hash."""

    def update(self, data: Buffer, /) -> None:
        """Add bytes to the hash."""

    def intdigest(self) -> int:
        """The hash of all bytes so far, 64 bits without a sign."""


def new_hash(purpose: str = "a fingerprint of segments") -> Hash:
    """Begin a hash.

    Args:
        purpose: what needs the hash, which is the subject of the error's text.

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
    """Format a fingerprint as output and the SQL catalog have it: 16 hexadecimal digits."""
    return f"{value:016x}"


def file_fingerprint(files: FileSystem, path: str, length: int) -> int | None:
    """Compute the fingerprint of a file's first bytes; None when the file is shorter.

    Args:
        files: the file system to use.
        path: path of the file.
        length: how many bytes to hash.

    Raises:
        FileNotFoundError: the file does not exist.
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
                return None  # the file was cut off meanwhile
            found.update(block)
            at += len(block)
    return found.intdigest()
