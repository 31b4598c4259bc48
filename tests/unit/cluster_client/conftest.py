"""A driver for members that follow a script and the clients that they talk to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cluster_script import scripted_aeron, scripted_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cluster_script import ScriptedMember

    from aerolog.cluster.client import AeronCluster
    from aerolog.transport.client import Aeron


@pytest.fixture(scope="module")
def aeron() -> Iterator[Aeron]:
    with scripted_aeron() as client:
        yield client


@pytest.fixture
def session(aeron: Aeron) -> Iterator[tuple[AeronCluster, ScriptedMember]]:
    """A client and the member that leads."""
    with scripted_session(aeron) as made:
        yield made
