"""What the golden tests compare our layouts with is what the reference writes today."""

from pathlib import Path

import peer
import pytest
from golden_data import layouts_of_the_reference
from reference_layouts import written_by_the_reference

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]


def test_the_recorded_bytes_are_those_of_the_reference(tmp_path: Path) -> None:
    found = written_by_the_reference(peer.java_tool, tmp_path)
    assert found == layouts_of_the_reference()["written"]
