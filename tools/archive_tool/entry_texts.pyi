from typing_extensions import Buffer

def walk_entries(
    data: Buffer,
    at: int,
    alignment: int,
    last_valid: int,
    offsets: list[int],
    lengths: list[int],
) -> tuple[int, int, int, int]:
    """Append offsets and lengths of entries from an offset on, up to one out of the ordinary.

    Args:
        data: the catalog's bytes.
        at: offset of the first entry.
        alignment: of entries; nothing is walked when it is no power of two.
        last_valid: id of the last VALID entry before, -1 when there is none.
        offsets: gets the offsets.
        lengths: gets the lengths, header and fill included.

    Returns:
        Offset behind the last entry appended; how many of them are VALID; the id of the last VALID
        one; that of the last one in any state, -1 when there is none.
    """

class DescriptorWriter:
    """Writes descriptors as lines of text."""

    def __init__(
        self,
        fields: list[tuple[bytes, int, int]],
        string_labels: list[bytes],
        end: bytes,
        strings_offset: int,
    ) -> None:
        """Tell the layout.

        Args:
            fields: of the block: what stands before the number, offset in the block, size 4 or 8.
            string_labels: what stands before each string.
            end: what stands behind the last one.
            strings_offset: of the strings, from the block's start.

        Raises:
            ValueError: a field is out of the block.
        """

    def write(
        self, data: Buffer, offsets: list[int], lengths: list[int], first: int, room: int
    ) -> tuple[bytes, int]:
        """Lines of VALID entries from one on, up to one out of the ordinary or to ``room`` bytes.

        Args:
            data: the catalog's bytes.
            offsets: of the entries.
            lengths: of the entries.
            first: index of the first one wanted.
            room: bytes of text at most.

        Returns:
            The text, ASCII; the index of the first entry that is not in it.
        """
