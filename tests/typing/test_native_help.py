"""``help()`` tells how objects of native classes are made, as the stubs say it."""

import inspect
import pydoc

from aerolog.transport.concurrent.idle import BackoffIdleStrategy, SleepingIdleStrategy
from aerolog.transport.memory.counters import CountersManager


def test_help_shows_the_arguments_of_a_native_class() -> None:
    shown = pydoc.render_doc(SleepingIdleStrategy, renderer=pydoc.plaintext)
    head = "class SleepingIdleStrategy(IdleStrategy)\n |  SleepingIdleStrategy(period_ns=1000)"
    assert head in shown
    assert (SleepingIdleStrategy.__doc__ or "").startswith("Parks for a fixed time.")


def test_a_native_class_has_a_signature() -> None:
    made = inspect.signature(BackoffIdleStrategy)
    assert list(made.parameters) == ["max_spins", "max_yields", "min_park_ns", "max_park_ns"]
    assert made.parameters["max_park_ns"].default == 1_000_000
    assert "self" not in inspect.signature(CountersManager).parameters
