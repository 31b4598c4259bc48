from typing_extensions import Buffer

def walk_entries(
    data: Buffer,
    at: int,
    alignment: int,
    last_valid: int,
    offsets: list[int],
    lengths: list[int],
) -> tuple[int, int, int, int]: ...

class DescriptorWriter:
    def __init__(
        self,
        fields: list[tuple[bytes, int, int]],
        string_labels: list[bytes],
        end: bytes,
        strings_offset: int,
    ) -> None: ...
    def write(
        self, data: Buffer, offsets: list[int], lengths: list[int], first: int, room: int
    ) -> tuple[bytes, int]: ...
