"""The files of a driver that never ran, and the command line in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from .made_up import MadeUpDriver


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def driver(tmp_path: Path) -> MadeUpDriver:
    return MadeUpDriver(tmp_path / "driver")


@pytest.fixture
def aerolog(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """``aerolog("stat", "--json")`` runs a command."""
    from aerolog.tools.main import main

    monkeypatch.delenv("AERON_DIR", raising=False)

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Ran(code, *capsys.readouterr())

    return run
