"""A flow control strategy in Python, asked by the native sender."""

from aerolog.transport.driver.flow_control.flow_control import PythonFlowControl
from aerolog.transport.protocol.frame_codec import ErrorFrame, encode_frame

TERM = 65536


class Halving(PythonFlowControl):
    """Grants half of what a receiver has room for, and gives a byte of it back when idle."""

    def __init__(self) -> None:
        super().__init__(TERM)
        self.setups, self.errors = [], []

    def status_message(self, receiver_id, position, window, limit, now_ns, flags=0, extension=b""):
        return max(limit, position + window // 2)

    def idle(self, limit, now_ns):
        return limit - 32

    def setup(self, limit, now_ns):
        self.setups.append(limit)
        return limit

    def receiver_error(self, receiver_id, now_ns, group_tag=None):
        self.errors.append((receiver_id, group_tag))


class Failing(PythonFlowControl):
    """Raises whenever it is asked."""

    def __init__(self) -> None:
        super().__init__(TERM)

    def status_message(self, *_):
        raise ValueError("no idea")

    def idle(self, limit, now_ns):
        raise ValueError("none now")


def test_its_limit_is_the_senders(bench):
    strategy = Halving()
    receiver, stream = bench.unicast(flow_control=strategy)
    bench.turn()
    receiver.send_datagrams([stream.status(0, 8192)], bench.address_of(stream.publication.endpoint))
    bench.turn()
    assert stream.counter("snd_lmt") == 4096
    bench.turn()
    assert stream.counter("snd_lmt") == 4096 - 32
    bench.wait(30)
    assert 4096 - 32 * 5 <= stream.counter("snd_lmt") < 4096 - 32
    bench.answer(receiver, stream, stream.status(0, 0, flags=0x80))
    bench.wait(101)
    assert len(strategy.setups) == 1
    error = ErrorFrame(stream.session_id, stream.stream_id, 5, 13, "no", 77, 0x08)
    bench.answer(receiver, stream, encode_frame(error))
    assert strategy.errors == [(5, 77)]


def test_one_that_fails_leaves_the_limit_alone_and_stops_nobody(bench):
    strategy = Failing()
    receiver, stream = bench.unicast(flow_control=strategy)
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, 8192))
    assert stream.counter("snd_lmt") == 0
    assert stream.logs.is_connected
    assert isinstance(strategy.take_error(), ValueError)
    bench.heard(receiver)
    bench.wait(101)
    assert bench.heard(receiver)


def test_receivers_that_it_requires_make_the_connection(bench):
    strategy = Halving()
    strategy.required_receivers_present = False
    receiver, stream = bench.unicast(flow_control=strategy)
    bench.turn()
    bench.answer(receiver, stream, stream.status(0, 8192))
    assert not stream.logs.is_connected
    strategy.required_receivers_present = True
    bench.wait(11)
    assert stream.logs.is_connected
