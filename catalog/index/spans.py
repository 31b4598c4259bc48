"""Classes of recordings by their duration, so that an index finds those of a range of time.

A recording overlaps a range when it starts before the range's end and stops after its beginning.
With an index of start times alone, a search has to read everything that started before. Here
recordings fall into classes by duration, whose limits grow eightfold: a recording of a class that
overlaps the range starts at most the class's limit before it. A search looks into each class, and
an index on class and start time finds its part at once.
"""

from __future__ import annotations

from typing import Final

#: A recording of class k lasts less than ``LIMITS_MS[k]``.
LIMITS_MS: Final = tuple(1000 * 8**k for k in range(11))
#: The class of recordings that last longer than any limit.
LONGEST: Final = len(LIMITS_MS)
#: The class of recordings that have not stopped.
UNENDED: Final = LONGEST + 1
CLASSES: Final = range(UNENDED + 1)

# The difference is floating point, so that no pair of times in a damaged descriptor overflows.
_LASTED: Final = "CAST(stop_time_ms AS DOUBLE PRECISION) - start_time_ms"

#: The class of a row of ``recordings``; the index is on this very expression.
SPAN_CLASS_SQL: Final = (
    f"(CASE WHEN stop_time_ms IS NULL THEN {UNENDED} "
    + " ".join(f"WHEN {_LASTED} < {limit} THEN {k}" for k, limit in enumerate(LIMITS_MS))
    + f" ELSE {LONGEST} END)"
)
