"""The reference's tools for drivers and ours, which look at one path, and what they say."""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from typing import TYPE_CHECKING, Self

from left_files import assert_same_lines
from peer.tool_runner import ToolRunner
from shared_memory import memory_path

from aerolog.tools.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator

    from left_driver import DriverDirectory

SAMPLES = "io.aeron.samples."
#: The reference's tools with their words, and our command for each.
TOOLS = {
    "AeronStat": (("watch=false",), "stat"),
    "ErrorStat": ((), "errors"),
    "LossStat": ((), "loss"),
    "StreamStat": ((), "streams"),
    "BacklogStat": ((), "backlog"),
    "DriverTool": ((), "driver-tool"),
}
#: What tells the time of a look.
AGE = re.compile(r"(?<=age )-?[\d,]+(?=ms)|(?<=age: )-?[\d,]+|(?<=age=)-?[\d,]+")
TIMED_FIELD = re.compile(
    r"(?<= )((?:pub|snd)-lmt|snd-bpe|snd-naks-received|rcv-naks-sent):(\d+):\d+"
)
BEFORE_LIMIT = re.compile(r"(?<=\(~)[\d,-]+(?= bytes before)|(?<=\()[\d,-]+(?= bytes remaining)")
STACK_FRAME = "\tat "
_OBSERVED = re.compile(r"(\d+) observations from \w+ to \w+ for:")


def comparable(name: str, said: list[str]) -> list[str]:
    """What a tool says of one driver, fit to be compared with what it says of the other."""
    if name == "ErrorStat":
        return list(first_lines(said))
    if name == "BacklogStat":  # in the order of the hashes of channels, and so of ports
        blocks = BEFORE_LIMIT.sub("timed", "\n".join(said[1:]).strip()).split("\n\n")
        return [said[0], *sorted(blocks)]
    return said


def first_lines(said: list[str]) -> Iterator[str]:
    """Errors without causes and frames: those are a driver's own, and by them it has some twice."""
    found: Counter[str] = Counter()
    rest = iter(said)
    for line in rest:
        if observed := _OBSERVED.fullmatch(line):
            found[next(rest)] += int(observed[1])
        elif not found:
            yield line
    yield from sorted(f"{count} {line}" for line, count in found.items())


class DriverTools:
    """Looks at directories through a link, so that both makes see the same path; a context."""

    def __init__(self) -> None:
        self._path = memory_path("seen")
        self._runner = ToolRunner({"aeron.dir": str(self._path)})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.stop()
        self._path.unlink(missing_ok=True)

    def say(self, directory: DriverDirectory) -> dict[str, list[str]]:
        """What all tools say to a directory, masked; ours says what the reference's does."""
        self._path.unlink(missing_ok=True)
        self._path.symlink_to(directory.folder)
        timed = directory.timed_counters()
        found = {}
        for name, (words, command) in TOOLS.items():
            theirs = self._runner.run(SAMPLES + name, *words)
            code, out = self._ours(command, "--classic", *words)
            said = self._lines(directory, timed, theirs.out)
            assert_same_lines(self._lines(directory, timed, out), said, f"our {name}")
            assert (code, theirs.err) == (theirs.code, ""), name
            found[name] = [*comparable(name, said), f"exit code {code}"]
        return found

    def _ours(self, command: str, *words: str) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = main([command, "--aeron-dir", str(self._path), *words])
        return code, out.getvalue()

    @staticmethod
    def _lines(directory: DriverDirectory, timed: set[int], text: str) -> list[str]:
        """Lines without frames, in which values that depend on the time are masked."""
        lines = []
        shown = TIMED_FIELD.sub(r"\1:\2:timed", AGE.sub("AGE", directory.run.text(text)))
        for line in shown.splitlines():
            counter = re.match(r" *(\d+): +[-\d,]+ - ", line)
            if counter and int(counter[1]) in timed:
                lines.append(f"{counter[1]}: timed - {line[counter.end() :]}")
            elif not line.startswith(STACK_FRAME):
                lines.append(line)
        return lines
