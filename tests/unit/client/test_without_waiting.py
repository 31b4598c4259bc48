"""What a client can ask of its driver without waiting for the answer."""

import pytest

from aerolog.transport.protocol import commands, responses


@pytest.fixture
def knowing(monkeypatch, aeron):
    """A client of a driver that knows about session ids."""
    monkeypatch.setattr(type(aeron.conductor.connection), "knows_next_session_id", True)
    return aeron


def test_a_session_id_is_asked_for_without_waiting(driver, knowing):
    driver.silent = True
    future = knowing.next_session_id_async(5)
    assert not future.done()
    (asked,) = driver.asked(commands.GetNextAvailableSessionId)
    assert asked.stream_id == 5
    driver.send(responses.NextAvailableSessionId(asked.correlation_id, 4711))
    assert future.done()
    assert future.result(0) == 4711


def test_a_session_id_that_is_drawn_here_is_there_at_once(driver, aeron):
    future = aeron.next_session_id_async(5)
    assert future.done()
    assert -(2**31) <= future.result(0) < 2**31
    assert driver.asked(commands.GetNextAvailableSessionId) == []


def test_a_destination_is_removed_without_waiting(driver, aeron):
    subscription = aeron.add_subscription("aeron:udp?control-mode=manual", 1)
    destination = subscription.add_destination("aeron:udp?endpoint=localhost:4000")
    driver.silent = True
    destination.remove(wait=False)
    destination.remove()
    driver.turn()
    (removed,) = driver.asked(commands.RemoveReceiveDestination)
    assert removed.channel == destination.channel
    assert destination.removed
    driver.silent = False
