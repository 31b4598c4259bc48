"""Waits for streams that a driver is asked for, which end early at any step."""

from concurrent.futures import Future

import pytest

from aerolog.transport.client.steps.added_stream import added
from aerolog.transport.errors import ErrorCode, RegistrationError


class Stream:
    """A stream that notes whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


def waiting(adding: Future) -> object:
    """A wait that has begun."""
    steps = added(adding)
    assert next(steps) == 0
    return steps


def test_a_stream_is_the_result() -> None:
    adding, stream = Future(), Stream()
    steps = waiting(adding)
    adding.set_result(stream)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value is stream
    assert not stream.closed


def test_what_is_not_there_yet_is_taken_back() -> None:
    adding = Future()
    waiting(adding).close()
    assert adding.cancelled()


def test_a_stream_that_has_come_meanwhile_is_closed() -> None:
    adding, stream = Future(), Stream()
    steps = waiting(adding)
    adding.set_result(stream)
    steps.close()
    assert stream.closed


@pytest.mark.parametrize("outcome", [7, None, RegistrationError(1, ErrorCode.GENERIC_ERROR, "no")])
def test_a_session_id_a_destination_or_a_refusal_leaves_nothing_to_close(outcome: object) -> None:
    adding = Future()
    steps = waiting(adding)
    if isinstance(outcome, RegistrationError):
        adding.set_exception(outcome)
    else:
        adding.set_result(outcome)
    steps.close()
    assert adding.done()
    assert not adding.cancelled()
