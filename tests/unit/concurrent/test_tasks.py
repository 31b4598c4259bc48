"""Tasks on a thread of their own, and inline."""

import threading

import pytest

from aerolog.transport.concurrent import tasks as module
from aerolog.transport.concurrent.tasks import InlineTasks, ThreadTasks
from aerolog.transport.errors import AerologError

DEADLINE_S = 60


class Bell:
    """Counts rings and waits for them."""

    def __init__(self):
        self._rings = threading.Semaphore(0)

    def ring(self):
        self._rings.release()

    def wait(self, count=1):
        for _ in range(count):
            assert self._rings.acquire(timeout=DEADLINE_S), "nothing was found out"


@pytest.fixture
def bell():
    return Bell()


@pytest.fixture
def on_thread(bell):
    tasks = ThreadTasks(bell.ring)
    yield tasks
    tasks.close()


def fail(text):
    raise ValueError(text)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_a_task_that_raises_an_interrupt_fails_and_others_go_on(on_thread, bell, kind):
    def leave():
        raise kind("enough")

    told = []
    assert on_thread.submit(leave, told.append, told.append)
    assert on_thread.submit(lambda: "found", told.append, told.append)
    bell.wait(2)
    assert on_thread.poll() == 2
    error, found = told
    assert (type(error), found) == (AerologError, "found")
    assert f"{kind.__name__}: enough" in str(error)


def test_outcomes_are_told_in_order_on_the_thread_that_polls(on_thread, bell):
    told = []
    worker = []

    def task(number):
        worker.append(threading.current_thread().name)
        return number

    for number in range(5):
        assert on_thread.submit(
            lambda n=number: task(n),
            lambda found: told.append((found, threading.current_thread())),
            told.append,
        )
    bell.wait(5)
    assert told == []

    assert on_thread.poll() == 5
    assert told == [(number, threading.current_thread()) for number in range(5)]
    assert set(worker) == {"aeron-executor"}
    assert on_thread.poll() == 0


@pytest.mark.parametrize("inline", [True, False])
def test_what_a_task_or_its_answer_raises_is_told(on_thread, bell, inline):
    tasks = InlineTasks() if inline else on_thread
    told = []
    tasks.submit(lambda: fail("no such host"), told.append, lambda error: told.append(str(error)))
    tasks.submit(
        lambda: "channel", lambda _: fail("refused"), lambda error: told.append(str(error))
    )
    if not inline:
        bell.wait(2)
    tasks.poll()

    assert told == ["no such host", "refused"]


def test_inline_the_outcome_is_told_at_once():
    tasks = InlineTasks()
    told = []

    assert tasks.submit(lambda: 7, told.append, told.append)
    assert told == [7]
    tasks.close()
    assert not tasks.submit(lambda: 8, told.append, told.append)


def test_no_more_wait_than_are_allowed(bell):
    tasks = ThreadTasks(bell.ring, limit=2)
    started, release = threading.Event(), threading.Event()
    told = []

    def busy():
        started.set()
        assert release.wait(DEADLINE_S)

    try:
        assert tasks.submit(busy, told.append, told.append)
        assert started.wait(DEADLINE_S)
        taken = [tasks.submit(lambda n=n: n, told.append, told.append) for n in range(4)]
        assert taken == [True, True, False, False]
        release.set()
        bell.wait(3)
        tasks.poll()
        assert told == [None, 0, 1]
    finally:
        release.set()
        tasks.close()


def test_closing_waits_for_no_name_service_and_drops_its_answer(bell, monkeypatch):
    monkeypatch.setattr(module, "CLOSE_TIMEOUT_S", 0.01)
    tasks = ThreadTasks(bell.ring)
    started, release, told = threading.Event(), threading.Event(), []

    def hangs():
        started.set()
        assert release.wait(DEADLINE_S)

    try:
        tasks.submit(hangs, told.append, told.append)
        tasks.submit(lambda: "never", told.append, told.append)
        assert started.wait(DEADLINE_S)
        tasks.close()
        tasks.close()
        assert not tasks.submit(lambda: 1, told.append, told.append)
    finally:
        release.set()
    bell.wait()

    assert tasks.poll() == 0
    assert told == []


def test_a_thread_begins_with_the_first_task_and_ends_with_close(on_thread, bell):
    def threads():
        return [one for one in threading.enumerate() if one.name == "aeron-executor"]

    before = len(threads())
    on_thread.submit(lambda: None, lambda _: None, lambda _: None)
    bell.wait()
    assert len(threads()) == before + 1
    on_thread.close()
    assert len(threads()) == before
