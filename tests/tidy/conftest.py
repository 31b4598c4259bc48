"""The tracked files, which is what the tidy tests look at."""

import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the tree."""
    return CHECKOUT


@pytest.fixture(scope="session")
def tracked() -> list[Path]:
    """Every file that git tracks and that is there."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=CHECKOUT, text=True).split("\0")
    return [CHECKOUT / name for name in names if name and (CHECKOUT / name).is_file()]
