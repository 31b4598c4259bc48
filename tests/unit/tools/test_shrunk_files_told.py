"""A command whose mapped file became shorter says so, whatever else it has to say."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PAGE = 4096


@pytest.mark.parametrize("start", ["invocation.ending", "direct_start.run"])
@pytest.mark.parametrize("answer", ["return 0", "raise KeyError('zeros')", "raise typer.Exit(0)"])
def test_a_command_whose_file_became_shorter_says_so(
    tmp_path: Path, answer: str, start: str
) -> None:
    file = tmp_path / "file.dat"
    file.write_bytes(b"x" * PAGE)
    program = f"""
        import os, sys, typer
        from aerolog.tools.command_line import direct_start, invocation
        from aerolog.transport.memory.mapped_file import MappedFile

        def work():
            mapped = MappedFile.open(sys.argv[1], writable=False)
            os.truncate(sys.argv[1], 0)
            bytes(mapped)
            {answer}

        assert {start}(lambda: 0) == 0
        code = {start}(work)
        assert {start}(lambda: 0) == 0
        sys.exit(code)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"aerolog: {file} became shorter while it was read: what is said of it may be wrong\n"
    )
