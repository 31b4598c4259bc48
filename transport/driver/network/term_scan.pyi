def cut(
    term: bytes, offset: int, room: int, mtu: int, max_datagrams: int = 64, max_messages: int = 64
) -> tuple[list[tuple[int, int, int, int]], int, bool]:
    """Cut a copy of a term, for tests.

    Returns:
        Messages as (offset, length, segment, padding); bytes to move by; whether the first frame
        did not fit.
    """
