"""Logs are made and deleted beside the conductor; only what needs a log waits for it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from turned_tasks import TurnedTasks
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import MediaDriver
from aerolog.transport.driver.conductor.command_order import WAITING_LIMIT
from aerolog.transport.errors import ErrorCode
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

S = 1_000_000_000
TERM = 65_536
A, B = 1001, 1002


def publication(channel="aeron:ipc", stream_id=7):
    return lambda i, n: c.AddPublication(i, n, stream_id, channel)


def exclusive(channel="aeron:ipc", stream_id=7):
    return lambda i, n: c.AddExclusivePublication(i, n, stream_id, channel)


def subscription(channel="aeron:ipc", stream_id=7):
    return lambda i, n: c.AddSubscription(i, n, stream_id, channel)


def removal(registration_id):
    return lambda i, n: c.RemovePublication(i, n, registration_id)


@pytest.fixture
def tasks(bench):
    logs = bench.driver.context.logs
    logs.tasks = TurnedTasks(logs.ring)
    bench.alive += [A, B]
    return logs.tasks


def pass_until_asked(bench, tasks):
    """Let time pass until the driver wants a log made or deleted."""
    for _ in range(300):
        if tasks:
            return
        bench.pass_time(S // 10)
    raise AssertionError("the driver wants no log made or deleted within 30 s")


def logs_of(bench):
    return bench.files.list_dir(f"{bench.driver.aeron_dir}/publications")


def kinds(said):
    """The types of messages, without those about clients."""
    return [type(m) for m in said if not isinstance(m, (r.CounterReady, r.UnavailableCounter))]


def answered(said):
    """The correlation ids of the answers to commands, in their order."""
    quiet = (r.CounterReady, r.UnavailableCounter, r.AvailableImage)
    return [m.correlation_id for m in said if not isinstance(m, quiet)]


def test_a_client_is_answered_in_order_and_others_go_on_meanwhile(bench, tasks):
    first = bench.send(publication(), A)
    second = bench.send(subscription(), A)
    third = bench.send(exclusive(stream_id=8), A)
    other = bench.send(subscription(stream_id=9), B)
    assert answered(bench.turn()) == [other]
    tasks.run()
    assert answered(bench.turn()) == [first, second]
    tasks.run()
    assert answered(bench.turn()) == [third]
    assert len(logs_of(bench)) == 2


def test_a_subscription_of_another_client_gets_its_image_once_there_is_a_log(bench, tasks):
    bench.send(publication(), A)
    assert kinds(bench.do(subscription(), B)) == [r.SubscriptionReady]
    tasks.run()
    assert kinds(bench.turn()) == [r.PublicationReady, r.AvailableImage]


def test_a_command_that_refers_to_a_log_in_the_making_waits_for_it(bench, tasks):
    made = bench.send(publication(), A)
    shared = bench.send(publication(), B)
    then = bench.send(subscription(stream_id=9), B)
    assert bench.turn() == []
    assert len(tasks) == 1
    tasks.run()
    said = bench.turn()
    assert answered(said) == [made, shared, then]
    ready = [m for m in said if isinstance(m, r.PublicationReady)]
    assert {m.registration_id for m in ready} == {made}
    assert len(logs_of(bench)) == 1


@pytest.mark.parametrize(
    "refer",
    [
        lambda _: exclusive("aeron:ipc?session-id=5"),
        lambda _: exclusive("aeron:ipc?tags=3,4"),
        lambda _: exclusive("aeron:ipc?session-id=tag:4", stream_id=8),
        removal,
    ],
    ids=["session", "tag", "session of a tag", "removal"],
)
def test_what_else_refers_to_a_log_in_the_making(bench, tasks, refer):
    made = bench.send(exclusive("aeron:ipc?session-id=5|tags=1,4"), A)
    referring = bench.send(refer(made), B)
    assert bench.turn() == []
    tasks.run()
    said = answered(bench.turn())
    if tasks:  # it wanted a log of its own
        tasks.run()
        said += answered(bench.turn())
    assert said == [made, referring]


def test_a_log_for_which_there_is_no_room_is_refused_and_the_next_command_goes_on(bench, tasks):
    bench.files.fill_up(free_bytes=3 * TERM)
    failing = bench.send(publication("aeron:ipc?session-id=5|tags=1,4"), A)
    waiting = bench.send(publication("aeron:ipc?session-id=5|tags=1,4"), B)
    assert bench.turn() == []
    tasks.run()
    (error,) = bench.turn()
    assert (error.correlation_id, error.code) == (failing, ErrorCode.STORAGE_SPACE)
    assert "insufficient usable storage for new log of length=200704 usable=196608" in error.message
    assert bench.value(SystemCounter.ERRORS) == 1
    assert bench.counters(CounterType.PUBLISHER_POSITION) == []
    bench.files.fill_up(free_bytes=100 * TERM)
    tasks.run()
    assert answered(bench.turn()) == [waiting]
    assert len(logs_of(bench)) == 1


def test_a_log_waits_for_the_room_of_logs_that_are_to_be_deleted(bench, tasks):
    ready = bench.send(publication(), A)
    bench.turn()
    tasks.run()
    assert answered(bench.turn()) == [ready]
    bench.do(removal(ready), A)
    pass_until_asked(bench, tasks)
    bench.files.fill_up(free_bytes=3 * TERM)
    late = bench.send(publication(), A)
    tasks_before = len(tasks)
    bench.turn()
    assert len(tasks) == tasks_before + 1
    making = tasks._tasks.pop()
    tasks._tasks.appendleft(making)
    tasks.run()
    assert bench.turn() == []
    bench.files.fill_up(free_bytes=100 * TERM)
    tasks.run()
    bench.turn()
    tasks.run()
    assert answered(bench.turn()) == [late]
    assert len(logs_of(bench)) == 1


def test_a_client_that_dies_meanwhile_leaves_no_file(bench, tasks):
    bench.do(subscription(stream_id=9), A)
    bench.send(publication(), A)
    bench.send(publication(stream_id=8), A)
    bench.turn()
    bench.alive.remove(A)
    said = bench.pass_time(12 * S)
    assert r.ClientTimeout in kinds(said)
    tasks.run()
    assert bench.turn() == []
    tasks.run()
    bench.turn()
    assert logs_of(bench) == []
    assert len(tasks) == 0
    assert bench.value(SystemCounter.BYTES_CURRENTLY_MAPPED) == mapped_at_start(bench)
    assert bench.counters(CounterType.PUBLISHER_POSITION) == []


def mapped_at_start(bench):
    names = ("cnc.dat", "loss-report.dat")
    return sum(bench.files.size(f"{bench.driver.aeron_dir}/{name}") for name in names)


def test_a_client_that_closes_meanwhile_leaves_no_file_in_the_end(bench, tasks):
    bench.send(publication(), A)
    bench.send(c.ClientClose, A)
    bench.turn()
    bench.alive.remove(A)
    tasks.run()
    bench.turn()
    pass_until_asked(bench, tasks)
    tasks.run()
    bench.turn()
    assert logs_of(bench) == []


@pytest.mark.parametrize("ran", [False, True])
def test_a_driver_that_closes_meanwhile_leaves_no_file(bench, tasks, ran):
    bench.do(publication(), A)
    if ran:
        tasks.run()
        assert len(logs_of(bench)) == 1
    bench.driver.close()
    assert logs_of(bench) == []
    assert tasks.is_closed


def test_a_log_that_cannot_be_deleted_is_tried_again(bench, tasks, monkeypatch):
    ready = bench.send(publication(), A)
    bench.turn()
    tasks.run()
    bench.turn()
    remove = bench.files.remove

    def failing(path):
        raise PermissionError(13, "not now", path)

    monkeypatch.setattr(bench.files, "remove", failing)
    bench.do(removal(ready), A)
    for fails in (1, 2, 3):
        pass_until_asked(bench, tasks)
        tasks.run()
        bench.turn()
        assert bench.value(SystemCounter.FREE_FAILS) == fails
    monkeypatch.setattr(bench.files, "remove", remove)
    pass_until_asked(bench, tasks)
    tasks.run()
    bench.turn()
    assert logs_of(bench) == []


def test_commands_that_wait_are_bounded_by_the_command_buffer(bench, tasks):
    bench.send(publication(), A)
    for _ in range(WAITING_LIMIT + 5):
        bench.send(lambda i, n: c.RemoveCounter(i, n, 99), A)
        bench.driver.do_work()
    other = bench.send(subscription(), B)
    for _ in range(10):
        bench.driver.do_work()
    assert bench.heard() == []
    tasks.run()
    assert answered(bench.turn())[-1] == other


def test_a_keepalive_does_not_wait(bench, tasks):
    bench.do(subscription(stream_id=9), A)
    bench.send(publication(), A)
    bench.turn()
    bench.alive.remove(A)
    for _ in range(30):
        bench.pass_time(S)
        assert bench.do(c.ClientKeepalive, A) == []
    tasks.run()
    assert kinds(bench.turn()) == [r.PublicationReady]


class SlowFiles(RealFileSystem):
    """Makes no log longer than a length until it may, or the test ends."""

    def __init__(self, length: int) -> None:
        self._length = length
        self.asked, self.may = threading.Event(), threading.Event()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.may.set()

    def create_mapped(self, path, length, *, preallocate=True, check_space=True):
        if path.endswith(".logbuffer") and length > self._length:
            self.asked.set()
            assert self.may.wait(60)
        return super().create_mapped(path, length, preallocate=preallocate, check_space=check_space)


@pytest.mark.parametrize("mode", ["SHARED", "SHARED_NETWORK", "DEDICATED"])
@pytest.mark.parametrize("channel", ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:24931"])
def test_streams_and_clients_go_on_while_a_log_is_made(tmp_path, mode, channel):
    files = SlowFiles(length=1 << 20)
    with (
        MediaDriver(
            str(tmp_path / "aeron"),
            threading_mode=mode,
            file_system=files,
            ipc_term_buffer_length="64k",
            term_buffer_length="64k",
            spies_simulate_connection=True,
        ) as driver,
        Aeron(driver.aeron_dir) as client,
        Aeron(driver.aeron_dir) as other,
        ThreadPoolExecutor() as pool,
        files,
    ):
        is_udp = "?" in channel
        large = f"{channel}{'|' if is_udp else '?'}term-length=1m"
        sent = other.add_publication(channel, 9)
        pending = pool.submit(client.add_publication, large, 8)
        wait_until(files.asked.is_set, "the driver to make a log")
        received = other.add_subscription("aeron-spy:" + channel if is_udp else channel, 9)
        wait_until(lambda: sent.offer(b"hello") > 0, "a subscriber")
        got = []
        wait_until(lambda: received.poll(lambda m, _: got.append(bytes(m))) > 0, "a message")
        assert got == [b"hello"]
        assert not pending.done()
        files.may.set()
        assert pending.result(60).stream_id == 8


def test_a_driver_with_threads_that_closes_meanwhile_leaves_no_file(tmp_path):
    files = SlowFiles(length=1 << 20)
    driver = MediaDriver(str(tmp_path / "aeron"), threading_mode="SHARED", file_system=files)
    with ThreadPoolExecutor() as pool, Aeron(driver.aeron_dir) as client, files:
        pending = pool.submit(client.add_publication, "aeron:ipc?term-length=1m", 8)
        wait_until(files.asked.is_set, "the driver to make a log")
        closing = pool.submit(driver.close)
        wait_until(lambda: driver.context.logs.is_closed, "the conductor to end")
        files.may.set()
        closing.result(60)
        assert pending.exception(60) is not None
    assert list(Path(driver.aeron_dir, "publications").iterdir()) == []
    assert not [one for one in threading.enumerate() if one.name == "aeron-logs"]


LARGE = "term-length=16m"
LARGE_TERM = 16 << 20


@pytest.fixture
def large(bench, tasks):
    """A publication with large terms, of which a term is wanted, and a subscription to it."""
    bench.driver.context.logs.has_thread = True
    bench.send(publication(f"aeron:ipc?{LARGE}"))
    bench.turn()
    tasks.run()
    (ready,) = [m for m in bench.turn() if isinstance(m, r.PublicationReady)]
    return ready, bench.subscription()


def test_a_large_term_is_allocated_apart_and_the_limit_waits_for_it(bench, tasks, large):
    ready, reads = large
    writer, reader = bench.writer(ready), bench.reader(ready, reads)
    assert len(tasks) == 1
    assert writer.offer(bytes(1000)) == -2
    bench.pass_time(5 * S)
    assert len(tasks) == 1
    used = bench.files.used_bytes
    tasks.run()
    assert bench.files.used_bytes > used + LARGE_TERM // 2
    bench.turn()
    assert writer.offer(bytes(1000)) > 0
    while writer.position < 4 * LARGE_TERM:
        writer.offer(bytes(1 << 20))
        reader.poll(1000)
        bench.turn()
        if tasks:
            assert writer.position_limit % LARGE_TERM == 0
            tasks.run()
            bench.turn()
    assert bench.files.used_bytes >= used + 3 * LARGE_TERM - 5 * 4096


def test_a_large_term_without_room_is_reported_and_tried_again(bench, tasks, large):
    writer = bench.writer(large[0])
    bench.files.fill_up()
    tasks.run()
    bench.turn()
    assert "no room for the next term" in bench.errors()[0]
    assert writer.offer(bytes(1000)) == -2
    bench.files.fill_up(free_bytes=2 * LARGE_TERM)
    pass_until_asked(bench, tasks)
    tasks.run()
    bench.turn()
    assert writer.offer(bytes(1000)) > 0


def test_a_publication_that_ends_while_its_term_is_allocated_leaves_no_file(bench, tasks, large):
    bench.do(removal(large[0].registration_id))
    bench.pass_time(12 * S)
    tasks.run()
    bench.turn()
    pass_until_asked(bench, tasks)
    tasks.run()
    bench.turn()
    assert logs_of(bench) == []
