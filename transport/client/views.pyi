"""Memory behind the memoryviews that handlers get."""

class MessageView:
    """Read-only memory of one message at a time."""

    def __buffer__(self, flags: int, /) -> memoryview: ...
