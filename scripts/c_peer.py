"""Builds the C peer of the interop tests, unless it is in the cache: see tests/interop/README.md.

Usage: c_peer.py [VERSION ...], of the reference; 1.51.0 where none is named. What the machine lacks
is told and is no error here: the tests say what becomes of them.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "interop"))

from peer.c_build import STANDARD, outcome

if __name__ == "__main__":
    for version in sys.argv[1:] or [STANDARD]:
        if isinstance(found := outcome(version), Exception):
            print(f"There is no C peer of {version}: {found}", file=sys.stderr)
