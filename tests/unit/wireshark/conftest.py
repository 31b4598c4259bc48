"""tshark with our dissector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from datagrams import Tshark, tshark_or_skip

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def tshark(tmp_path_factory: pytest.TempPathFactory) -> Tshark:
    """tshark; see `tshark_or_skip`."""
    folder: Path = tmp_path_factory.mktemp("wireshark")
    return tshark_or_skip(folder)
