from typing import Final

SESSION_UNKNOWN: Final[int]
SESSION_ACTIVE: Final[int]
SESSION_PENDING_SETUP: Final[int]
SESSION_INIT_IN_PROGRESS: Final[int]
SESSION_COOL_DOWN: Final[int]
SESSION_REFUSED: Final[int]
#: Sessions that may wait for a setup or an image at a time; more are dropped.
MAX_WAITING_SESSIONS: Final[int]
#: Sessions that may be kept away at a time; beyond it the next one may come back at once.
MAX_COOL_DOWNS: Final[int]

class Dispatcher:
    def __init__(self, session_limit: int = ...) -> None: ...
    def wants(self, stream_id: int, session_id: int) -> bool: ...
    def session_state(self, stream_id: int, session_id: int) -> int: ...
    @property
    def has_interest(self) -> bool: ...
    @property
    def waiting_sessions(self) -> int: ...
    def image_count(self, stream_id: int) -> int: ...
