"""The checksum of a file that is written piece by piece: CRC-32C, by the archive's native one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.format.checksum import CRC32C_NAME, checksum_for

if TYPE_CHECKING:
    from typing_extensions import Buffer

_BLOCK_LENGTH: Final = 256 * 1024
_POLYNOMIAL: Final = 0x82F63B78
_PREFIX: Final = "crc32c:"


class RunningChecksum:
    """CRC-32C of a sequence of bytes that comes in pieces."""

    def __init__(self) -> None:
        checksum = checksum_for(CRC32C_NAME)
        assert checksum is not None
        self._compute = checksum.compute
        self._value = 0
        self._waiting = bytearray()

    def update(self, data: Buffer) -> None:
        """Take the next piece."""
        self._waiting += data
        if len(self._waiting) >= _BLOCK_LENGTH:
            self._flush()

    def consume(self, block: memoryview) -> None:
        """Take the next piece without a copy: its first bytes change meanwhile.

        Args:
            block: writable bytes.
        """
        self._flush()
        self._take(block)

    @property
    def text(self) -> str:
        """``crc32c:`` and eight hex digits, of all pieces so far."""
        self._flush()
        return f"{_PREFIX}{self._value:08x}"

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, bytearray()
        self._take(memoryview(waiting))

    def _take(self, block: memoryview) -> None:
        # A CRC goes on where another ended when that one is added to the first four bytes: the
        # native function always begins anew, with all bits set.
        if len(block) >= 4:
            first = int.from_bytes(block[:4], "little") ^ self._value
            block[:4] = first.to_bytes(4, "little")
            self._value = self._compute(block) & 0xFFFFFFFF
        else:
            self._value = _by_bits(self._value, block)


def _by_bits(value: int, data: memoryview) -> int:
    register = value ^ 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (_POLYNOMIAL if register & 1 else 0)
    return register ^ 0xFFFFFFFF
