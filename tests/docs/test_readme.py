"""The README's example is a program of the examples, and runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from page_samples import ROOT

if TYPE_CHECKING:
    from pathlib import Path

README = (ROOT / "README.md").read_text(encoding="utf-8")
SCREENS = 80  # lines that two screens show


def program() -> str:
    (found,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return str(found)


def test_it_fits_two_screens() -> None:
    assert len(README.splitlines()) <= SCREENS


def test_its_program_is_the_quickstart() -> None:
    quickstart = (ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8")
    assert quickstart.partition('"""\n\n')[2] == program()


def test_its_program_runs(tmp_path: Path) -> None:
    for run in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program().replace("/dev/shm/", f"{tmp_path}/")],
            cwd=tmp_path,
            env=os.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        assert done.stdout == f"recording {run}: 1000 messages, last b'message 999'\n"


def test_the_start_page_shows_it_and_how_to_install() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^```(\S+)(?: \S+)?\n(.*?)^```", index, re.MULTILINE | re.DOTALL))
    assert blocks["text"] == "recording 0: 1000 messages, last b'message 999'\n"
    shown = re.search(r"```\{literalinclude\} \.\./(\S+)\n:language: python\n:lines: 3-\n", index)
    assert shown
    assert shown[1] == "examples/quickstart.py"
    assert (ROOT / shown[1]).read_text(encoding="utf-8").split("\n", 2)[2] == program()
    install = "pip install '.[all]'"
    assert f"```sh\n{install}\n```" in index
    assert install in README
    assert index.index(install) < index.index("::::{grid}")
