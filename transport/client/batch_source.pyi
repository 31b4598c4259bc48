from typing import Any

from aerolog.transport.client.arrow import ArrowBatch

class BatchSource:
    def poll_into(
        self,
        buffer: Any,
        offsets: Any,
        *,
        positions: Any = None,
        session_ids: Any = None,
        stream_ids: Any = None,
        reserved_values: Any = None,
        limit: int | None = None,
    ) -> int: ...
    def poll_array(self, dtype: Any = None, out: Any = None, *, limit: int = 4096) -> Any: ...
    def poll_arrow(self, limit: int = 4096) -> ArrowBatch: ...
