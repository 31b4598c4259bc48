"""Clusters as counters and streams tell of them, and their pages."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from top_driver import MadeUpCounter, MadeUpDriver
from top_screens import check_screen, time_zone

from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.tools.top.cluster_figures import clusters_of
from aerolog.tools.top.glyphs import BLOCKS
from aerolog.tools.top.text_lines import plain
from aerolog.tools.top.top_app import TopApp
from aerolog.tools.top.top_dashboard import Dashboard

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = [(80, 24), (120, 40)]
ARCHIVE = 50
LOG = "aeron:udp?term-length=64k|alias=log"
#: Type of a module's counter -> its value in a node that works.
MODULE = {
    ClusterCounterType.MODULE_ERRORS: 0,
    ClusterCounterType.MODULE_STATE: 1,
    ClusterCounterType.ELECTION_STATE: 17,
    ClusterCounterType.ELECTION_COUNT: 1,
    ClusterCounterType.LEADERSHIP_TERM: 3,
    ClusterCounterType.NODE_ROLE: 2,
    ClusterCounterType.COMMIT_POSITION: 90_000,
    ClusterCounterType.CONTROL_TOGGLE: 1,
    ClusterCounterType.NODE_TOGGLE: 1,
    ClusterCounterType.SNAPSHOT_COUNT: 4,
    ClusterCounterType.TIMED_OUT_CLIENTS: 2,
    ClusterCounterType.MODULE_MAX_CYCLE: 5_000_000,
    ClusterCounterType.MODULE_CYCLES_EXCEEDED: 1,
    ClusterCounterType.MODULE_MAX_SNAPSHOT: 12_000_000,
    ClusterCounterType.MODULE_SNAPSHOTS_EXCEEDED: 0,
}
SERVICE = {
    ClusterCounterType.SERVICE_ERRORS: 1,
    ClusterCounterType.SERVICE_MAX_CYCLE: 250_000_000,
    ClusterCounterType.SERVICE_CYCLES_EXCEEDED: 3,
    ClusterCounterType.SERVICE_MAX_SNAPSHOT: 8_000_000,
    ClusterCounterType.SERVICE_SNAPSHOTS_EXCEEDED: 0,
}


@pytest.fixture(autouse=True)
def _utc() -> Iterator[None]:
    with time_zone("UTC"):
        yield


def add_node(driver: MadeUpDriver, cluster_id: int, client: int, **values: int) -> dict[int, int]:
    """A module with its log, and a service; returns counter ids by type, 0 for the log's."""
    ids = {}
    for type_id, value in (MODULE | {int(name[1:]): one for name, one in values.items()}).items():
        key, label = struct.pack("<i", cluster_id), f"counter {type_id} - clusterId={cluster_id}"
        ids[type_id] = driver.add(MadeUpCounter(type_id, label, key, value, owner_id=client))
    for type_id, value in SERVICE.items():
        key, label = struct.pack("<ii", cluster_id, 0), f"counter {type_id}"
        ids[type_id] = driver.add(MadeUpCounter(type_id, label, key, value, owner_id=client + 1))
    stream = (700 + cluster_id, 100, LOG)
    publication = 1_000 * client
    ids[0] = driver.add_of_stream(
        12, "pub-pos (exclusive)", publication, stream, value=100_000, owner_id=client
    )
    for reader, position in ((client + 1, 80_000), (ARCHIVE, 95_000)):
        driver.add_of_stream(
            4,
            "sub-pos",
            publication + reader,
            stream,
            value=position,
            owner_id=reader,
            reference_id=publication,
        )
    key = struct.pack("<qii9sq", 3, stream[0], 9, b"aeron:ipc", 9)
    label = f"rec-pos: 3 {stream[0]} 100 {LOG} - archiveId=9"
    driver.add(MadeUpCounter(100, label, key, 95_000, owner_id=ARCHIVE))
    label = "cluster-session: name=feed\x1b[2J sourceIdentity=10.0.0.7:4 sessionId=5"
    driver.add(
        MadeUpCounter(
            241, f"{label} - clusterId={cluster_id}", struct.pack("<iq", cluster_id, 1), 1,
            owner_id=client,
        )
    )  # fmt: skip
    return ids


def cluster_driver() -> tuple[MadeUpDriver, TopApp]:
    """A driver with two clusters, one of which recovers, watched for a while."""
    driver = MadeUpDriver()
    ids = add_node(driver, 0, 10)
    add_node(driver, 7, 20, _200=0, _201=0, _207=6, _212=2)
    key = struct.pack("<qqqii", 3, 90_000, 0, 7, 2)
    driver.add(MadeUpCounter(204, "Cluster recovery", key, owner_id=20))
    app = TopApp(driver, BLOCKS, 0)
    for turn in range(12):
        driver.grow(ids[203], 1_000 * (turn % 5))
        driver.grow(ids[0], 1_000 * (turn % 5))
        driver.pass_time()
        app.dashboard.take(driver.look())
    driver.pass_time()
    return driver, app


def test_figures_of_two_clusters() -> None:
    driver = MadeUpDriver()
    add_node(driver, 0, 10)
    add_node(driver, 7, 20, _200=2, _203=5)
    reading = driver.look()
    first, other = clusters_of(reading.snapshot, reading.streams)
    assert (first.cluster_id, other.cluster_id) == (0, 7)
    assert (first.committed, other.committed) == (90_000, 5)
    assert (first.named(200), other.named(200)) == ("active", "suspended")
    assert (first.is_active, other.is_active) == (True, False)
    for one in (first, other):
        assert (one.appended, one.recorded, one.services[0].position) == (100_000, 95_000, 80_000)
        assert one.sessions == ["name=feed?[2J sourceIdentity=10.0.0.7:4 sessionId=5"]
        assert (one.total("errors"), one.total("slow_cycles")) == (1, 4)


def test_values_without_a_name_and_services_that_are_missing() -> None:
    driver = MadeUpDriver()
    key = struct.pack("<i", 3)
    driver.add(MadeUpCounter(200, "Consensus Module state", key, 99, owner_id=10))
    driver.add(MadeUpCounter(204, "recovery", struct.pack("<qqqii", -1, 0, 0, 3, 2), owner_id=10))
    (one,) = clusters_of(driver.look().snapshot, ())
    assert one.named(200) == "99"
    assert one.named(201) == "?"
    assert (one.awaited, one.services, one.committed, one.appended) == (2, {}, None, None)


def test_a_cluster_is_opened_and_stays_when_it_has_gone() -> None:
    driver, app = cluster_driver()
    board = Dashboard(BLOCKS, 1.0)
    board.take(driver.look())
    board.select(5)
    assert [board.page.line(index, 80)[0][0].split()[0] for index in range(2)] == ["0", "7"]
    board.open()
    shown = [plain(one) for one in board.page.head(80)]
    shown += [plain(board.page.line(index, 80)) for index in range(board.page.count())]
    assert any("read by service 0" in one and "80,000" in one for one in shown)
    for counter_id in list(driver.counters):
        if driver.counters[counter_id].type_id >= ClusterCounterType.MODULE_STATE:
            del driver.counters[counter_id]
    board.take(driver.look())
    assert board.model.clusters == {}
    board.page.head(80)
    assert "the node has ended" in plain(board.page.line(0, 80))
    board.back()
    assert "no cluster has a node" in plain(board.page.line(0, 80))
    assert app.dashboard.model.clusters


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("name", "keys"), [("clusters", ("6",)), ("cluster", ("6", "enter"))])
async def test_the_page_is_drawn_as_it_was_agreed(
    name: str, keys: tuple[str, ...], size: tuple[int, int]
) -> None:
    _, app = cluster_driver()
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        await check_screen(name, pilot)
