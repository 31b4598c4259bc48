"""Units of time in nanoseconds, the unit of all our clocks and durations."""

from typing import Final

NS_PER_US: Final = 1_000
NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000

#: Nanoseconds of a unit by the suffix that texts have.
UNITS_NS: Final = {
    "ns": 1,
    "us": NS_PER_US,
    "ms": NS_PER_MS,
    "s": NS_PER_S,
    "m": 60 * NS_PER_S,
    "min": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
    "d": 86_400 * NS_PER_S,
    "w": 7 * 86_400 * NS_PER_S,
}
