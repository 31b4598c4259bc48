"""Logs of images are made beside the conductor; what is wanted may change meanwhile."""

import pytest
from turned_tasks import TurnedTasks

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.driver.receive.publication_images import MAKINGS_MAX
from aerolog.transport.protocol import responses as r

S = 1_000_000_000
HERE = ("10.0.0.1", 24325)
CHANNEL = "aeron:udp?endpoint=10.0.0.1:24325"


@pytest.fixture
def tasks(bench):
    logs = bench.driver.context.logs
    logs.tasks = TurnedTasks(logs.ring)
    return logs.tasks


def logs_of(bench):
    return bench.files.list_dir(f"{bench.driver.aeron_dir}/images")


def finish(bench, tasks):
    """Run all that waits; what the driver said."""
    said = []
    while tasks:
        tasks.run()
        said += bench.turn()
    return said


def test_commands_go_on_while_the_log_of_an_image_is_made(bench, tasks):
    first = bench.subscription(CHANNEL)
    bench.source(HERE).setup()
    assert bench.turn() == []
    assert len(tasks) == 1
    second = bench.subscription(CHANNEL)
    images = finish(bench, tasks)
    assert {type(m) for m in images} == {r.AvailableImage}
    wanted = {first.correlation_id, second.correlation_id}
    assert {m.subscription_registration_id for m in images} == wanted
    assert len(logs_of(bench)) == 1


def test_an_image_that_is_not_wanted_any_more_leaves_no_file_and_no_counter(bench, tasks):
    subscription = bench.subscription(CHANNEL)
    bench.source(HERE).setup()
    bench.turn()
    bench.remove(subscription)
    assert finish(bench, tasks) == []
    assert logs_of(bench) == []
    assert bench.counters(CounterType.RECEIVER_HWM) == []
    assert bench.counters(CounterType.SUBSCRIBER_POSITION) == []


def test_a_session_that_is_wanted_again_meanwhile_has_one_image(bench, tasks):
    bench.subscription(CHANNEL, 8)  # keeps the endpoint
    source = bench.source(HERE)
    first = bench.subscription(CHANNEL)
    source.setup()
    bench.turn()
    bench.remove(first)
    second = bench.subscription(CHANNEL)
    bench.pass_time(3 * S)
    source.setup()
    bench.turn()
    images = [m for m in finish(bench, tasks) if isinstance(m, r.AvailableImage)]
    source.setup()
    images += [m for m in bench.turn() if isinstance(m, r.AvailableImage)]
    images += [m for m in finish(bench, tasks) if isinstance(m, r.AvailableImage)]
    assert [m.subscription_registration_id for m in images] == [second.correlation_id]
    assert len(logs_of(bench)) == 1


def test_an_image_for_which_there_is_no_room_is_refused_and_tried_again(bench, tasks):
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    bench.files.fill_up()
    source.setup()
    bench.turn()
    assert finish(bench, tasks) == []
    assert "insufficient usable storage for new log" in bench.errors()[0]
    bench.files.fill_up(free_bytes=1 << 24)
    for _ in range(50):
        bench.pass_time(S // 10)
        source.setup()
        bench.turn()
        if tasks:
            break
    assert [type(m) for m in finish(bench, tasks)] == [r.AvailableImage]


def test_so_many_images_are_in_the_making_at_most(bench, tasks):
    bench.subscription(CHANNEL)
    for number in range(MAKINGS_MAX + 5):
        bench.source(HERE, session_id=number).setup()
        bench.turn()
    bench.pass_time(S)
    assert len(tasks) == MAKINGS_MAX
    assert len(finish(bench, tasks)) == MAKINGS_MAX


def test_a_driver_that_closes_meanwhile_leaves_no_file(bench, tasks):
    bench.subscription(CHANNEL)
    bench.source(HERE).setup()
    bench.turn()
    tasks.run()
    bench.driver.close()
    assert logs_of(bench) == []
