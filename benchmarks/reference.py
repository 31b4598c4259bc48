"""Servers as the tests find, build and start them, the reference first of all."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from benchmarks.native_loops import CHECKOUT

if TYPE_CHECKING:
    from types import ModuleType


def harness(name: str) -> ModuleType:
    """A module of the interop tests' package ``peer``."""
    return module_of_tests("interop", f"peer.{name}")


def module_of_tests(folder: str, name: str) -> ModuleType:
    """A module in a folder of the tests."""
    sys.path.insert(0, str(CHECKOUT / "tests" / folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)
