"""The reference as the interop tests find and build it."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from benchmarks.native_loops import CHECKOUT

if TYPE_CHECKING:
    from types import ModuleType


def harness(name: str) -> ModuleType:
    """A module of the interop tests' package ``peer``."""
    sys.path.insert(0, str(CHECKOUT / "tests" / "interop"))
    try:
        return importlib.import_module(f"peer.{name}")
    finally:
        sys.path.pop(0)
