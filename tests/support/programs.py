"""Programs of the system that tests call, of the packages in .ci/packages."""

import os
import shutil

import pytest


def program_or_skip(name: str) -> str:
    """The path of a program; without it a visible skip, or under CI a failure."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} must be at hand in CI", pytrace=False)
        pytest.skip(f"{name} not found: see .ci/packages")
    return found
