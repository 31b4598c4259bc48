"""Builds the distribution once for the packaging tests, from what git tracks."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("wheels", CHECKOUT / "scripts" / "wheels.py")
assert SPEC is not None
assert SPEC.loader is not None
wheels = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(wheels)


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


@pytest.fixture(scope="session", name="wheels")
def wheels_program() -> ModuleType:
    """The program of `make wheels`, as a module."""
    return wheels


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tracked files, with the C that Cython has made of them already."""
    copy = tmp_path_factory.mktemp("source")
    wheels.copy_source(copy)
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
