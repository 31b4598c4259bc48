from typing import Final, final

from typing_extensions import Buffer

CRC32_NAME: Final[str]
CRC32C_NAME: Final[str]

@final
class Checksum:
    """CRC-32 or CRC-32C, as the archive keeps it for frames and descriptors.

    Attributes:
        name: ``CRC-32`` or ``CRC-32C``.
        implementation: ``vpclmul``, ``pclmul``, ``sse4.2``, ``arm-crc`` or ``table``, as found
            at run time.
    """

    @property
    def name(self) -> str: ...
    @property
    def implementation(self) -> str: ...
    def compute(self, data: Buffer) -> int: ...
    def stamp(self, block: Buffer) -> int: ...

def checksum_for(name: str | None) -> Checksum | None: ...
def other_checksums(name: str) -> list[Checksum]: ...
