"""Screen captures: what a command prints in a terminal, as SVG, and what can be read on one."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS, ROWS = 140, 50
_FONT_FACE = re.compile(r"\s*@font-face \{.*?\n\s*\}\n", re.DOTALL)
_SVG_TEXT = "{http://www.w3.org/2000/svg}text"


def typed(command: str, folder: Path, environment: dict[str, str], deadline_s: float) -> str:
    """What a command prints in a terminal of its own, with its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    shell = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=environment | {"TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said = b""
    deadline = time.monotonic() + deadline_s
    try:
        while True:
            assert time.monotonic() < deadline, f"{command} does not end: {said[-2000:]!r}"
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                part = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            said += part
        shell.wait(deadline_s)
    finally:
        if shell.poll() is None:
            shell.kill()
            shell.wait()
        os.close(ours)
    return said.decode("utf-8").replace("\r\n", "\n")


def drawn(name: str, command: str, said: str) -> str:
    """A terminal with a command and what it printed, as SVG that loads nothing."""
    from rich.console import Console
    from rich.text import Text

    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, legacy_windows=False
    )
    console.print(Text(f"$ {command}", style="bold"), soft_wrap=False)
    console.print(Text.from_ansi(said.rstrip("\n")), soft_wrap=False)
    return without_fonts(console.export_svg(title="terminal", unique_id=name))


def without_fonts(svg: str) -> str:
    """Takes out the fonts that a drawing would load from elsewhere."""
    return _FONT_FACE.sub("\n", svg).replace("Fira Code,", "'DejaVu Sans Mono', Menlo,")


def read(svg: str) -> str:
    """The lines that can be read on a capture, from above."""
    lines: dict[float, list[tuple[float, str]]] = {}
    for part in ET.fromstring(svg).iter(_SVG_TEXT):
        words = "".join(part.itertext()).replace("\xa0", " ")
        place = float(part.get("x", "0"))
        lines.setdefault(float(part.get("y", "0")), []).append((place, words))
    rows = (sorted(lines[y]) for y in sorted(lines))
    return "\n".join("".join(words for _, words in row).rstrip() for row in rows)
