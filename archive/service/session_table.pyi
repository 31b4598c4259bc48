from typing import Final

DEFAULT_CAPACITY: Final[int]

class SessionTable:
    """Sessions that an agent on another thread works on."""

    capacity: int
    def __init__(self, capacity: int = ...) -> None: ...
    def add(self, session: object) -> bool: ...
    def sessions(self) -> list[tuple[int, object]]: ...
    def release(self, index: int) -> None: ...

class Doorbell:
    """Tells a conductor that one of its agents has something for it."""

    def ring_bell(self) -> None: ...
