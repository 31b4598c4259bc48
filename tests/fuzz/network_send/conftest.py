"""The sending station of the unit tests."""

import sys
from pathlib import Path

# What the unit tests of the sender have is used here too.
sys.path.insert(0, str(Path(__file__).parents[2] / "unit" / "network_send"))
