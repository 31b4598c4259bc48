class DropRule:
    dropped: int
    def then(self, rule: DropRule) -> None: ...
    def would_drop(self, datagram: bytes) -> bool: ...

class RandomLoss(DropRule):
    def __init__(
        self,
        rate: float,
        seed: int = 0,
        *,
        burst: int = 1,
        types: int | None = None,
        stream_id: int | None = None,
        session_id: int | None = None,
    ) -> None: ...

class _TermLoss(DropRule): ...

class FixedLoss(_TermLoss):
    def __init__(self, term_id: int, term_offset: int, length: int) -> None: ...

class MultiGapLoss(_TermLoss):
    def __init__(self, term_id: int, gap_radix: int, gap_length: int, total_gaps: int) -> None: ...
