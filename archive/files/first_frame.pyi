from typing_extensions import Buffer

def first_frame(data: Buffer) -> int:
    """Offset of the first aligned word above 0, -1 when there is none."""
