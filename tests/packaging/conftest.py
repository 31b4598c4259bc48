"""Builds the distribution once for the packaging tests, from what git tracks."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Runs a command to its end; a failure shows its output."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "AEROLOG_OPTIMIZE": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{command} exited {done.returncode}:\n{done.stdout[-4000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def call() -> Callable[..., str]:
    """`run`, for test modules."""
    return run


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tracked files, with the C that Cython has made of them already."""
    copy = tmp_path_factory.mktemp("source")
    tracked = run("git", "ls-files", "-z", cwd=CHECKOUT).split("\0")
    for name in filter(None, tracked):
        origin = CHECKOUT / name
        if origin.is_symlink() or origin.exists():
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, target, follow_symlinks=False)
    made = CHECKOUT / "build" / "cython"
    if made.is_dir():
        shutil.copytree(made, copy / "build" / "cython")
    run(sys.executable, "setup.py", "-q", "build_ext", "--c-only", cwd=copy)  # where out of date
    # Cython makes C anew that is older than a declaration it depends on, and those of Cython itself
    # are as young as the environment of an isolated build; the C of another version it refuses.
    tomorrow = time.time() + 86400
    for path in (copy / "build" / "cython").rglob("*.c"):
        os.utime(path, (tomorrow, tomorrow))
    return copy


@pytest.fixture(scope="session")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "build", "-q", "--sdist", "--no-isolation", "-o", folder, source)
    (found,) = folder.glob("*.tar.gz")
    return found


@pytest.fixture(scope="session")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel for this interpreter, built from the source distribution as pip does: isolated."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, sdist)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def bare_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--no-index", wheel)
    return python
