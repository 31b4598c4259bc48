"""Real nodes of a cluster, of either kind: healthy, then killed."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from peer.cluster_node import java_node, java_service, our_node
from waits import wait_until

from aerolog.cluster.files import RecordingLog
from aerolog.tools.doctor.findings import Area

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]


@pytest.fixture
def node(implementation, tmp_path):
    """A node of one member that leads, with an echo service."""
    with ExitStack() as stack:
        if implementation == "reference":
            yield stack.enter_context(java_node(tmp_path, "aeron:ipc"))
        else:
            running = stack.enter_context(our_node(tmp_path))
            stack.enter_context(java_service(running))
            yield running


def clustered(found):
    return {one.code: one for one in found if one.kind.area is Area.CLUSTER}


def test_a_node_is_healthy_until_it_is_killed(doctor, node):
    cluster = node.folder / "cluster"
    looks = doctor(None, node.folder / "archive", cluster)
    wait_until(lambda: not clustered(looks.look()), "a node with nothing wrong")
    with RecordingLog(cluster, writable=False) as log:
        assert log.last_term is not None
    node.process.kill()
    dead = looks.find("cluster-dead", lambda one: one.figures["who"] == "consensus module")
    found = clustered(looks.look())
    assert dead.figures["pid"] == node.process.pid
    assert set(found) <= {"cluster-dead", "service-without-module", "cluster-ending"}
