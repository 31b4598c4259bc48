"""The programs in examples/start that no page of the site runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from page_samples import ROOT
from shared_memory import memory_path

from aerolog.archive.service import ArchivingMediaDriver

START = ROOT / "examples" / "start"
SAID = {
    "follow": "recorded 99 then the first live one\n",
    "service": "[b'hello']\n",
}


def test_every_program_is_run_here_or_by_a_page() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    on_pages = set(re.findall(r"^python examples/start/(\w+)\.py", pages, re.MULTILINE))
    programs = {path.stem for path in START.glob("*.py")} - {"__init__"}
    assert programs == on_pages | SAID.keys()


@pytest.mark.parametrize("name", SAID)
def test_a_program_says_what_it_should(name: str, tmp_path, monkeypatch) -> None:
    aeron_dir = memory_path(f"start-{name}")
    monkeypatch.setenv("AERON_DIR", str(aeron_dir))
    try:
        with ArchivingMediaDriver(aeron_dir, tmp_path / "archive"):
            for _ in range(2):
                done = subprocess.run(
                    [sys.executable, "-W", "error", str(START / f"{name}.py")],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=100,
                    check=False,
                )
                assert (done.stderr, done.stdout) == ("", SAID[name])
    finally:
        shutil.rmtree(aeron_dir, ignore_errors=True)
