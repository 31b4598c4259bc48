"""The receiving station of the unit tests, and how many cases there are."""

import sys
from pathlib import Path

from hypothesis import settings

# What the unit tests of the receiver have is used here too.
sys.path.insert(0, str(Path(__file__).parents[2] / "unit" / "network_receiver"))

settings.register_profile("network-fuzz", max_examples=300, deadline=None)
