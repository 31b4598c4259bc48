"""Runs the samples of a documentation page, in their order, as a reader would.

A page may be run again in the same folder.

A page's samples are its fenced blocks in ``python`` (a program each) and ``sh`` (commands, all in
one shell). The ``text`` block behind one is what it prints, ``...`` standing for anything. Comments
before a block, which readers do not see, say more:

``<!-- beside -->``         it goes on in the background, as in another terminal; what follows
                            waits for its first line of output
``<!-- beside, quiet -->``  the same, without waiting
``<!-- first: COMMAND -->`` what has to be done before, and is no news to the reader
``<!-- elsewhere: WHY -->`` it is not run here
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 280
_PART = re.compile(
    r"^<!-- (?P<note>beside, quiet|beside|first|elsewhere)(?:: (?P<words>.*?))? -->$"
    r"|^```(?P<kind>python|sh|text)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Sample:
    """A block of a page: what it is, how it is run, and what it prints."""

    kind: str
    body: str
    line: int
    beside: str = ""
    first: str = ""
    elsewhere: str = ""
    expected: str | None = None


def samples(page: Path) -> list[Sample]:
    """The samples of a page, with what is said about each."""
    text = page.read_text(encoding="utf-8")
    found: list[Sample] = []
    notes: dict[str, str] = {}
    end = 0
    for part in _PART.finditer(text):
        if part["note"]:
            name, _, quiet = part["note"].partition(", ")
            notes[name] = part["words"] or quiet or name
        elif part["kind"] == "text":
            if found and not text[end : part.start()].strip():
                found[-1].expected = part["body"]
        else:
            line = text.count("\n", 0, part.start()) + 1
            found.append(Sample(part["kind"], part["body"], line, **notes))
            notes = {}
        end = part.end()
    return found


def script(page: Path, found: list[Sample], folder: Path) -> str:
    """One shell script of all samples; what each prints goes to a file of its own."""
    # A log of the run before would be taken for that of a service which has not begun its own.
    lines = ["set -eu", "rm -f said-* *.log"]
    for number, sample in enumerate(found):
        if sample.elsewhere:
            continue
        lines.append(f"echo {shlex.quote(f'{page.name}:{sample.line}')} >&2")
        if sample.first:
            lines.append(f"{{ {sample.first}\n}} >/dev/null")
        command = sample.body
        if sample.kind == "python":
            program = folder / f"sample-{number}.py"
            program.write_text(sample.body, encoding="utf-8")
            command = f"python {program.name}\n"
        said = f"said-{number}"
        if not sample.beside:
            lines.append(f"{{ {command}}} >{said}")
            continue
        lines.append(f"{{ {command}}} >{said} &\nbeside=$!")
        if sample.beside != "quiet":
            lines.append(f"until [ -s {said} ]; do kill -0 $beside || exit 9; sleep 0.05; done")
    return "\n".join(lines) + "\n"


def run_page(page: Path, folder: Path, environment: dict[str, str]) -> list[tuple[Sample, str]]:
    """Runs a page in a folder; gives each sample with what it printed.

    The shell is the leader of a process group of its own, which ends with the page.

    Raises:
        AssertionError: a command failed; the page's line and what was said are in the message.
    """
    found = samples(page)
    program = folder / "page.sh"
    program.write_text(script(page, found, folder), encoding="utf-8")
    if not (folder / "examples").is_symlink():
        (folder / "examples").symlink_to(ROOT / "examples")
    with (folder / "said.err").open("w+", encoding="utf-8") as errors:
        shell = subprocess.Popen(
            ["bash", program.name],
            cwd=folder,
            env={**os.environ, "PATH": _path(), "COLUMNS": "100", **environment},
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
        )
        try:
            code = shell.wait(DEADLINE_S)
        finally:
            end_group(shell)
        errors.seek(0)
        assert code == 0, f"{page.name} ended with {code}:\n{errors.read()}"
    run = [(number, sample) for number, sample in enumerate(found) if not sample.elsewhere]
    return [
        (sample, (folder / f"said-{number}").read_text(encoding="utf-8")) for number, sample in run
    ]


def _path() -> str:
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def end_group(shell: subprocess.Popen[bytes]) -> None:
    """Ends a process and all that it started: in good order first, so that they can tidy up."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(shell.pid, number)
        except ProcessLookupError:
            break
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and _group_lives(shell.pid):
            shell.poll()
            time.sleep(0.02)
    shell.wait()


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def differs(sample: Sample, said: str) -> str | None:
    """What a sample printed, beside what the page says, when the two differ."""
    if sample.expected is None:
        return None
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if doctest.OutputChecker().check_output(sample.expected, said, flags):
        return None
    return f"line {sample.line}: the page says\n{sample.expected}\nit printed\n{said}"
