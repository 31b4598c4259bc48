"""The new user's story: what the page says is done, and its screen captures are made anew.

``AEROLOG_CAPTURES=write`` puts what was made in the place of the pictures on the page. Without it
the test fails when a picture there lacks what matters of the one that was made now.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from captures import drawn, read, typed, without_fonts
from page_samples import ROOT, end_group
from prerequisites import needs_mounts
from shared_memory import memory_path

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "start" / "break-and-find.md"
CAPTURES = PAGE.parent / "captures"
PATIENCE_S = 150.0
STEP = re.compile(
    r"^<!-- (?P<note>beside, quiet|beside|capture|top|until)(?:: (?P<words>.*?))? -->$"
    r"|^```sh\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# What has to be readable on each capture.
SAYS = {
    "recordings": [r"\b1001\b.* yes "],
    "top": [r"aerolog top", r"Streams", r"LIMITED BY", r"\b1001\b.*B/s"],
    "top-blocked": [r"\b1001\b.* 0 B/s\b.*slow subscriber"],
    "killed": [
        r"CRITICAL +publisher-blocked .*1001",
        r"(CRITICAL|WARNING) +subscriber-stopped .*1001",
        r"do: ",
    ],
    "loss": [r"bytes lost in 1 streams", r"\b1003\b"],
    "lossy": [r"WARNING +loss-network +stream 1003"],
    "refused": [r"aerolog: .*(space|threshold)"],
    "disk": [r"CRITICAL +archive-disk-full", r"do: "],
    "streams": [r"stream 1001 ", r"limit: nothing", r"recording"],
    "well": [r"NOTICE +clients-timed-out"],
    "replay": [r"^0+0$", r"^0+4$"],
}
pytestmark = [
    pytest.mark.timeout(600),
    needs_mounts,
]


class Story:
    """Does the steps of the page in a folder of its own."""

    def __init__(self, folder: Path, aeron_dir: Path) -> None:
        self.folder = folder
        self.made: dict[str, str] = {}
        self._environment = {
            **{key: text for key, text in os.environ.items() if not key.startswith("AERON_")},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "AERON_DIR": str(aeron_dir),
            "AERON_DRIVER_TIMEOUT": "60000",
        }
        self._aeron_dir = aeron_dir
        self._running: list[subprocess.Popen[bytes]] = []

    def close(self) -> None:
        """Ends what was started, in good order where that works, the newest first."""
        for process in reversed(self._running):
            end_group(process)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def until(self, condition: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while (done := self.run(condition)).returncode:
            assert time.monotonic() < deadline, f"{condition}\n{done.stdout}{done.stderr}"
            time.sleep(0.2)

    def beside(self, command: str, *, quiet: bool) -> None:
        out = self.folder / f"beside-{len(self._running)}"
        errors = out.with_suffix(".err")
        with out.open("wb") as stream, errors.open("wb") as error_stream:
            process = subprocess.Popen(
                ["bash", "-c", command],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=error_stream,
                start_new_session=True,
            )
        self._running.append(process)
        deadline = time.monotonic() + PATIENCE_S
        while not quiet and not out.stat().st_size:
            assert process.poll() is None, f"{command}\n{errors.read_text()}"
            assert time.monotonic() < deadline, f"{command} says nothing"
            time.sleep(0.05)

    def capture(self, name: str, command: str) -> None:
        said = typed(command, self.folder, self._environment, PATIENCE_S)
        self.made[name] = drawn(name, command, said)

    def top(self, name: str) -> None:
        """The dashboard as the command shows it, once it shows what matters."""
        self.made[name] = asyncio.run(self._watched(SAYS[name]))

    async def _watched(self, says: list[str]) -> str:
        from aerolog.tools.top.glyphs import BLOCKS
        from aerolog.tools.top.live_source import LiveSource
        from aerolog.tools.top.top_app import TopApp

        with closing(LiveSource(self._aeron_dir, self.folder / "small" / "archive")) as source:
            app = TopApp(source, BLOCKS, 0.5)
            async with app.run_test(size=(100, 24)) as pilot:
                deadline = time.monotonic() + PATIENCE_S
                turns = 0
                while True:
                    await pilot.pause(0.5)
                    svg = without_fonts(app.export_screenshot(title="aerolog top"))
                    turns += 1
                    if turns > 8 and not missing(read(svg), says):
                        return svg
                    assert app.is_running, read(svg)
                    assert time.monotonic() < deadline, read(svg)


def missing(text: str, says: list[str]) -> list[str]:
    return [words for words in says if not re.search(words, text, re.MULTILINE)]


def steps() -> Iterator[tuple[dict[str, str], str]]:
    """The commands of the page, each with the notes that stand before it."""
    notes: dict[str, str] = {}
    for found in STEP.finditer(PAGE.read_text(encoding="utf-8")):
        if found["note"]:
            name, _, quiet = found["note"].partition(", ")
            notes[name] = found["words"] or quiet
        else:
            yield notes, found["body"].replace("\\\n", "").strip()
            notes = {}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The captures of one run through the page."""
    folder = tmp_path_factory.mktemp("story")
    aeron_dir = memory_path("story")
    story = Story(folder, aeron_dir)
    with ExitStack() as after:
        after.callback(shutil.rmtree, aeron_dir, ignore_errors=True)
        after.callback(subprocess.run, ["umount", "-l", str(folder / "small")], check=False)
        after.callback(story.close)
        for notes, command in steps():
            if "until" in notes:
                story.until(notes["until"])
            if "beside" in notes:
                story.beside(command, quiet=notes["beside"] == "quiet")
            elif "capture" in notes:
                story.capture(notes["capture"], command)
            elif "top" in notes:
                story.top(notes["top"])
            else:
                done = story.run(command)
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    if os.environ.get("AEROLOG_CAPTURES") == "write":
        CAPTURES.mkdir(exist_ok=True)
        for name, svg in story.made.items():
            (CAPTURES / f"{name}.svg").write_text(svg, encoding="utf-8")
    return story.made


def test_every_capture_is_made_and_shown(made: dict[str, str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\(captures/([\w-]+)\.svg\)", page))
    assert made.keys() == SAYS.keys() == shown
    assert {path.stem for path in CAPTURES.glob("*.svg")} == shown


@pytest.mark.parametrize("name", SAYS)
def test_a_capture_shows_what_the_page_tells(made: dict[str, str], name: str) -> None:
    now = read(made[name])
    assert not missing(now, SAYS[name]), now


@pytest.mark.parametrize("name", SAYS)
def test_the_picture_on_the_page_shows_the_same(made: dict[str, str], name: str) -> None:
    kept = read((CAPTURES / f"{name}.svg").read_text(encoding="utf-8"))
    assert not missing(kept, SAYS[name]), kept
    typed_now = [line for line in read(made[name]).splitlines() if line.startswith("$ ")]
    assert [line for line in kept.splitlines() if line.startswith("$ ")] == typed_now
