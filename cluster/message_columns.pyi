from typing import Any

class MessageColumns:
    data: memoryview
    ends: Any
    session_ids: Any
    leadership_term_ids: Any
    timestamps: Any
    positions: Any
    def __len__(self) -> int: ...
    def to_arrow(self) -> Any: ...
