"""Checked streams find what a transport may do wrong."""

import random

import pytest

from aerolog.testing import CheckedReader, CheckedWriter, Ledger, StreamCheckError
from aerolog.testing.streams import SentStream, framed_length
from aerolog.transport.errors import RegistrationError


class World:
    """A writer and a reader of one stream."""

    def __init__(self, simulation, host, **options):
        self.simulation = simulation
        self.ledger = Ledger()
        self.client = host.connect()
        self.writer = CheckedWriter(
            self.ledger, self.client, "aeron:ipc", 1, random.Random(1), 60, **options
        )
        simulation.add_party("writer", self.writer.turn)
        self.reader = self.read()

    def read(self, **options):
        reader = CheckedReader(
            self.ledger, self.client, "aeron:ipc", 1, random.Random(2), **options
        )
        self.simulation.add_party("reader", reader.turn)
        return reader

    @property
    def is_complete(self):
        return self.writer.done and any(r.is_complete for r in self.reader.open_readings)

    def run(self):
        self.simulation.run(lambda: self.is_complete, timeout=10)

    def tamper(self, change):
        """Run until something has been sent that was not read, then change what is expected."""
        stream = None

        def changed():
            nonlocal stream
            stream = self.writer.stream
            return stream is not None and len(stream.messages) > self.reader.count + 3

        self.simulation.run(changed, timeout=10)
        change(stream, len(stream.messages) - 1)


@pytest.fixture
def world(simulation, host):
    return World(simulation, host)


@pytest.mark.parametrize("options", [{}, {"exclusive": True}, {"max_length": 20_000}])
def test_what_is_sent_arrives(simulation, host, options):
    world = World(simulation, host, **options)
    world.run()
    assert world.reader.count == world.writer.sent == 60
    (reading,) = world.reader.readings
    world.writer.close()
    simulation.run(lambda: reading.gone, timeout=10)
    assert reading.image.is_end_of_stream


def test_a_late_reader_begins_where_it_joins(simulation, world):
    world.run()
    world.writer.count = 100
    late = world.read()
    simulation.run(lambda: world.is_complete and late.open_readings, timeout=10)
    simulation.run(lambda: late.open_readings[0].is_complete, timeout=10)
    assert 0 < late.count <= 40


def test_a_changed_byte_is_found(world):
    def change(stream, index):
        stream.messages[index] = bytes(len(stream.messages[index])) + b"!"

    world.tamper(change)
    with pytest.raises(StreamCheckError, match="has changed"):
        world.run()


def test_a_message_left_out_is_found(world):
    def change(stream, index):
        for numbers in (stream.messages, stream.starts, stream.positions, stream.reserved_values):
            numbers.insert(index, numbers[index])
        stream.index_at = {p: i for i, p in enumerate(stream.positions)}

    world.tamper(change)
    with pytest.raises(StreamCheckError, match="came where"):
        world.run()


def test_an_unreliable_reader_may_miss_messages_but_not_their_order(simulation, world):
    world.reader.close()
    world.reader = world.read(reliable=False)

    def change(stream, index):
        for numbers in (stream.messages, stream.starts, stream.positions, stream.reserved_values):
            numbers.insert(index, numbers[index])
        stream.index_at = {p: i for i, p in enumerate(stream.positions)}

    world.tamper(change)
    simulation.run(lambda: world.writer.done, timeout=10)
    simulation.run(lambda: world.reader.count >= 40, timeout=10)


def test_a_message_that_nobody_sent_is_found(world):
    world.tamper(lambda stream, index: stream.index_at.pop(stream.positions[index]))
    with pytest.raises(StreamCheckError, match="where none end"):
        world.run()


def test_another_reserved_value_is_found(world):
    def change(stream, index):
        stream.reserved_values[index] += 1

    world.tamper(change)
    with pytest.raises(StreamCheckError, match="reserved value"):
        world.run()


def test_a_refused_subscription_is_the_reader_s_error(simulation, world):
    reader = CheckedReader(world.ledger, world.client, "aeron:nothing", 1, random.Random(1))
    simulation.add_party("refused", reader.turn)
    simulation.run(lambda: reader.error is not None, timeout=5)
    assert isinstance(reader.error, RegistrationError)


def test_a_refused_publication_is_the_writer_s_error(simulation, world):
    writer = CheckedWriter(world.ledger, world.client, "aeron:nothing", 1, random.Random(1), 1)
    simulation.add_party("refused", writer.turn)
    simulation.run(lambda: writer.done, timeout=5)
    assert isinstance(writer.error, RegistrationError)


@pytest.mark.parametrize(
    ("length", "framed"),
    [(0, 32), (1, 64), (32, 64), (1376, 1408), (1377, 1472), (2752, 2816), (3000, 3104)],
)
def test_the_length_of_frames_counts_headers_and_alignment(length, framed):
    assert framed_length(length, 1408) == framed


def test_the_first_message_of_a_late_reader_begins_behind_its_position():
    stream = SentStream(1, 1, 1408)
    for position in (64, 128, 192):
        stream.add(position, b"x", 0)
    assert [stream.first_from(p) for p in (0, 32, 64, 65, 128, 192)] == [0, 1, 1, 2, 2, 3]
