"""The command on the path of a shell."""

import os
import sys
from pathlib import Path

import pytest


@pytest.fixture
def shell_environ(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH begins with a folder that has this checkout's ``aerolog``."""
    home = tmp_path / "home"
    programs = home / "bin"
    programs.mkdir(parents=True)
    program = programs / "aerolog"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m aerolog.tools.main "$@"\n')
    program.chmod(0o755)
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_DATA_HOME": str(home),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "TERM": "xterm",
        "INPUTRC": os.devnull,
    }
