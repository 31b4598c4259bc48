"""What others write into labels, channels and payloads steers no terminal, and forges no line."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from mark_headers import archive_header

from aerolog.archive.format.mark_file import ArchiveMarkFile
from aerolog.archive.retention.holds import Holds
from aerolog.testing import ManualClock
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.terminal.terminal_text import fit, fit_error, fit_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .made_up import MadeUpDriver

#: A line that nobody has printed who knows.
FORGED = "recording 7 is sound"
#: Sets a terminal's title, clears its screen, takes a character back, begins a line.
BYTES = f"\x1b]0;owned\x07\x1b[2J\x7f\n{FORGED}"
#: The same introducer in one character, and text from right to left.
TEXT = f"{BYTES}\x9b31m\u202eowned"
STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Hostile:
    """A driver and an archive's folder in which everybody has written what he liked."""

    driver: Path
    archive: Path
    file: Path


@pytest.fixture
def hostile(driver: MadeUpDriver, tmp_path: Path) -> Hostile:
    channel = f"aeron:ipc?alias={BYTES}"
    driver.counters.allocate(1000, BYTES, b"")
    driver.client(1, BYTES)
    for type_id, name, value in ((12, "pub-pos (concurrent)", 9), (1, "pub-lmt", 9)):
        driver.stream(type_id, name, 10, value, channel=channel)
    driver.stream(4, "sub-pos", 11, 3, channel=channel, reference_id=10, suffix=" @0")
    driver.error_log.record(f"{TEXT}\n\tat {TEXT}")
    driver.losses.create_entry(99, 1_800_000_000_000, 7, 1001, channel, BYTES)
    archive = tmp_path / "archive"
    archive.mkdir()
    builder = RecordingBuilder()
    builder.add(TEXT.encode())
    builder.write(archive, channel=channel)
    Holds.open(str(archive)).add(0, TEXT, None, now_ms=1_800_000_000_000)
    header = archive_header(
        pid=os.getpid(),
        control_channel=channel,
        local_control_channel=channel,
        events_channel=channel,
        aeron_directory=f"/none/{BYTES}",
    )
    mark = ArchiveMarkFile.claim(archive, header, clock=ManualClock(1_700_000_000_000))
    mark.ready()
    mark.error_log().record(TEXT)
    return Hostile(driver.folder, archive, tmp_path / f"no{BYTES}file")


COMMANDS = [
    "stat --aeron-dir DRIVER",
    "stat --aeron-dir DRIVER --watch --updates 2 --interval 0",
    "streams --aeron-dir DRIVER",
    "backlog --aeron-dir DRIVER",
    "errors --aeron-dir DRIVER",
    "errors --archive-dir ARCHIVE",
    "loss --aeron-dir DRIVER",
    "driver-tool --aeron-dir DRIVER",
    "doctor --aeron-dir DRIVER --archive-dir ARCHIVE",
    "recordings list --archive-dir ARCHIVE",
    "retention status --archive-dir ARCHIVE",
    "retention plan --archive-dir ARCHIVE --stream 10 --max-count 1 --accept-clock",
    "verify --archive-dir ARCHIVE",
    "archive-tool ARCHIVE describe --json",
    "archive-tool ARCHIVE dump --json",
    "archive-tool ARCHIVE errors --json",
    "explain DRIVER/cnc.dat",
    "explain ARCHIVE/archive.catalog",
    "explain ARCHIVE/archive-mark.dat",
    "explain ARCHIVE/0-0.rec",
    "explain FILE",
]
CLASSIC = [
    "stat --aeron-dir DRIVER --classic watch=false",
    "streams --aeron-dir DRIVER --classic",
    "errors --aeron-dir DRIVER --classic",
    "loss --aeron-dir DRIVER --classic",
    "archive-tool ARCHIVE describe",
    "archive-tool ARCHIVE dump",
    "archive-tool ARCHIVE describe 0",
    "archive-tool ARCHIVE describe-all",
    "archive-tool ARCHIVE errors",
    "backlog --aeron-dir DRIVER --classic",
    "serve-metrics --once --aeron-dir DRIVER --archive-dir ARCHIVE",
]


def placed(hostile: Hostile, text: str) -> list[str]:
    """The words of a command line with the folders in their places."""
    places = {"DRIVER": hostile.driver, "ARCHIVE": hostile.archive, "FILE": hostile.file}
    pattern = re.compile("|".join(places))
    return [pattern.sub(lambda found: str(places[found[0]]), word) for word in text.split()]


@pytest.mark.parametrize("command", [*COMMANDS, *CLASSIC])
def test_no_command_prints_what_a_terminal_obeys(
    aerolog: Callable[..., object], hostile: Hostile, command: str
) -> None:
    ran = aerolog(*placed(hostile, command))
    shown = f"{ran.out}{ran.err}"
    assert shown
    assert not STEERS.search(shown), repr(shown)
    assert not [line for line in shown.splitlines() if line.startswith(FORGED)]


@pytest.mark.parametrize("command", [text for text in COMMANDS if "--watch" not in text][:-1])
def test_json_has_escapes_for_it(
    aerolog: Callable[..., object], hostile: Hostile, command: str
) -> None:
    ran = aerolog(*placed(hostile, f"{command} --json"))
    assert not STEERS.search(f"{ran.out}{ran.err}"), repr(ran.out)
    json.loads(ran.out)


def test_json_says_what_is_there(aerolog: Callable[..., object], hostile: Hostile) -> None:
    found = json.loads(aerolog(*placed(hostile, "stat --aeron-dir DRIVER type=1000 --json")).out)
    assert [one["label"] for one in found["counters"]] == [BYTES]


def on_a_terminal(arguments: list[str]) -> str:
    """What a command writes when stdout and stderr are a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "aerolog.tools.main", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as child:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # how a terminal says that the other side is gone
                break
            written += part
        child.wait(30)
    os.close(ours)
    return written.decode()


@pytest.mark.parametrize("command", CLASSIC)
def test_a_terminal_shows_the_same(
    aerolog: Callable[..., object], hostile: Hostile, command: str
) -> None:
    shown = on_a_terminal(placed(hostile, command)).replace("\r\n", "\n")
    assert "owned" in shown
    assert not STEERS.search(shown), repr(shown)
    assert not [line for line in shown.splitlines() if line.startswith(FORGED)]


PAYLOADS = f"""
import sys
from aerolog.tools.messages.message_output import MessageFormat, MessageWriter
class Row:
    position = term_id = term_offset = session_id = stream_id = flags = reserved_value = 0
for form in MessageFormat.TEXT, MessageFormat.JSON:
    writer = MessageWriter(form)
    for payload in {TEXT.encode()!r}, b"\\xff\\x1b]0;owned":
        writer.write([Row()], lambda row: payload)
"""


def test_a_payload_is_a_line_whatever_it_holds() -> None:
    piped = subprocess.run([sys.executable, "-c", PAYLOADS], capture_output=True, check=True)
    shown = piped.stdout.decode()
    assert not STEERS.search(shown), repr(shown)
    text, odd, *_ = shown.splitlines()
    assert text == fit(TEXT)
    assert odd == r"\xff\x1b]0;owned"
    assert len(shown.splitlines()) == 4


def test_text_without_such_characters_stays() -> None:
    for text in ("", "as it is", "K\u00f6ln \u6771\u4eac \U0001f680", "a\u00a0b"):
        assert fit(text) == fit_json(text) == text
    assert fit("a\tb\nc") == r"a\tb\nc"
    assert fit("a\tb\nc", tabs=True) == "a\tb\\nc"
    assert fit("a\tb\nc", lines=True) == "a\tb\nc"
    assert json.loads(fit_json(json.dumps(TEXT, ensure_ascii=False))) == TEXT


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("java.lang.X: a\n\tat b\nCaused by: c\n", "java.lang.X: a\n\tat b\nCaused by: c\n"),
        ("(-22) a\n[aeron_b, c.c:1] d\n", "(-22) a\n[aeron_b, c.c:1] d\n"),
        ("a\n\n1 observations from", "a\n\\n1 observations from"),
        ("a\nb\x1b", r"a\nb\x1b"),
    ],
)
def test_an_error_keeps_the_lines_of_its_trace(text: str, shown: str) -> None:
    assert fit_error(text) == shown
