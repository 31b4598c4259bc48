"""Time is an argument: the clock of the machine is read in few places, which stand here."""

import re
from collections.abc import Iterator
from pathlib import Path

from product import WINGS, without_docstrings

#: Where a clock of the machine may be read, and why.
ENTRIES = {
    "transport/concurrent/clock.pyx": "the clock that all others are given",
    "archive/retention/clock.py": "the clock of retention, which tells a set clock by the boot's",
    "tools/retention/status_command.py": "a command: its time is that of the call",
    "tools/retention/hold_commands.py": "a command: its time is that of the call",
}
READ = re.compile(
    r"\btime\.(?:time|monotonic|perf_counter|process_time|thread_time|clock_gettime)(?:_ns)?\b"
    r"|\bclock_gettime\("
    r"|\b(?:datetime|date)\.(?:now|utcnow|today)\("
    r"|\bfrom time import (?!sleep$)"
    r"|\bSystemClock\(\)\.now"
)


def reads(text: str) -> Iterator[tuple[int, str]]:
    """Lines that read a clock of the machine, or name the function that does."""
    for number, line in enumerate(without_docstrings(text).splitlines(), 1):
        if READ.search(re.sub(r"(^|\s)#.*", "", line)):
            yield number, line.strip()


def test_time_is_an_argument(checkout: Path, tracked: list[Path]):
    found: dict[str, list[str]] = {}
    for path in tracked:
        place = path.relative_to(checkout)
        if path.suffix in {".py", ".pyx", ".pxd"} and place.parts[0] in WINGS:
            lines = [f"{place}:{number}: {line}" for number, line in reads(path.read_text())]
            if lines:
                found[str(place)] = lines
    new = [line for place in sorted(found.keys() - ENTRIES.keys()) for line in found[place]]
    assert not new, "take a Clock, the machine's by default:\n" + "\n".join(new)
    gone = ENTRIES.keys() - found.keys()
    assert not gone, "reads no clock any more, take it off the list: " + ", ".join(sorted(gone))


def test_reads_are_found():
    for line in (
        "deadline = time.monotonic() + 5",
        "clock: Callable[[], float] = time.time_ns,",
        "now = datetime.now(UTC)",
        "from time import monotonic",
        "now_ms = SystemClock().now_epoch_ms()",
    ):
        assert list(reads(line)), line
    for line in (
        "self._clock = clock or SystemClock()",
        "clock: Clock = field(default_factory=SystemClock)",
        '"""Monotonic, as time.monotonic() is."""',
        "value = 1  # as time.time()",
        "time.sleep(0.1)",
        "at = datetime.fromtimestamp(seconds, UTC)",
    ):
        assert not list(reads(line)), line
