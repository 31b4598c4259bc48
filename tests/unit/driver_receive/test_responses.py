"""Response channels from the receiving side: who waits for a session, who is told of one."""

import pytest

from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import frame_codec as f
from aerolog.transport.protocol import responses as r

STREAM = 7
MS = 1_000_000
S = 1_000_000_000
HERE = ("10.0.0.1", 24325)
CHANNEL = "aeron:udp?endpoint=10.0.0.1:24325"
SEND_RESPONSE_SETUP = 0x80


def answer_to(image, port=24390):
    text = (
        f"aeron:udp?control=10.0.0.1:{port}|control-mode=response|term-length=64k"
        f"|response-correlation-id={image.correlation_id}"
    )
    return lambda i, n: c.AddPublication(i, n, 8, text)


def test_a_response_subscription_waits_to_be_told_its_session(bench):
    control = bench.source(("10.0.0.1", 24331), local=("10.0.0.2", 24330))
    channel = "aeron:udp?endpoint=10.0.0.1:24331|control=10.0.0.2:24330|control-mode=response"
    ready = bench.subscription(channel, 8)
    (asked,) = control.heard()
    assert (asked.session_id, asked.stream_id, asked.flags) == (0, 0, 0x80)
    control.session_id, control.stream_id = 99, 8
    control.setup()
    assert bench.turn() == []
    bench.driver.conductor.network.subscriptions.on_response_setup(ready.correlation_id, 99)
    bench.turn()
    assert (99, 8) in {(s.session_id, s.stream_id) for s in control.heard(f.StatusMessage)}
    assert bench.image(control).session_id == 99
    other = bench.source(("10.0.0.1", 24331), session_id=98, stream_id=8)
    other.setup()
    assert bench.turn() == []
    bench.remove(ready)
    bench.pass_time(5 * S)
    assert bench.types() == []


def test_an_image_tells_its_sender_the_session_of_the_answer(bench):
    bench.subscription(CHANNEL)
    source = bench.source(HERE)
    image = bench.image(source, flags=SEND_RESPONSE_SETUP)
    source.heard()
    ready = bench.add(answer_to(image))
    bench.pass_time(300 * MS)
    (told,) = source.heard(f.ResponseSetup)
    assert (told.session_id, told.stream_id) == (source.session_id, STREAM)
    assert told.response_session_id == ready.session_id


@pytest.mark.parametrize("known", [True, False])
def test_only_an_image_that_asked_is_answered(bench, known):
    bench.subscription(CHANNEL)
    image = bench.image(bench.source(HERE))
    correlation_id = image.correlation_id if known else 4711
    reason = "did not request a response channel" if known else "not found"
    text = (
        "aeron:udp?control=10.0.0.1:24390|control-mode=response|term-length=64k"
        f"|response-correlation-id={correlation_id}"
    )
    assert bench.refused(lambda i, n: c.AddPublication(i, n, 8, text)) == (
        11,
        f"java.lang.IllegalArgumentException : image.correlationId={correlation_id} {reason}",
    )


def test_the_log_of_a_response_says_so(bench):
    control = bench.source(("10.0.0.1", 24331), local=("10.0.0.2", 24330))
    channel = "aeron:udp?endpoint=10.0.0.1:24331|control=10.0.0.2:24330|control-mode=response"
    ready = bench.subscription(channel + "|session-id=99", 8)
    assert isinstance(ready, r.SubscriptionReady)
    control.session_id, control.stream_id = 99, 8
    image = bench.image(control)
    assert image.stream_id == 8
    assert bench.counter(CounterType.SUBSCRIBER_POSITION).counter_id == image.position_counter_id
