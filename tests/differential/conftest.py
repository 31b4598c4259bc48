"""What the differential tests have in common with those of the interop suite."""

import pytest
from peer.artifact import Toolchain
from peer.reference import reference_toolchain


@pytest.fixture(scope="session")
def reference() -> Toolchain:
    """Java, the jar and the compiled peers."""
    return reference_toolchain()
