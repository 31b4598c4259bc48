"""A name service that takes its time stalls nobody but the command that needs it."""

import socket
import threading

import pytest

from aerolog.transport.client import Aeron
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import MediaDriver
from aerolog.transport.errors import RegistrationError

DEADLINE_S = 60
SLOW = "aeron:udp?endpoint=slow.example:24377|term-length=64k"


class NameService:
    """Answers for one name when it is told to."""

    def __init__(self, monkeypatch):
        self.asked = threading.Event()
        self.answer = threading.Event()
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.look_up)

    def look_up(self, host, *args, **options):
        if host == b"slow.example":
            self.asked.set()
            assert self.answer.wait(DEADLINE_S)
            host = b"127.0.0.1"
        return self._real(host, *args, **options)


@pytest.fixture
def names(monkeypatch):
    service = NameService(monkeypatch)
    yield service
    service.answer.set()


@pytest.fixture(params=["DEDICATED", "SHARED"])
def driver(request):
    with MediaDriver.embedded(
        threading_mode=request.param, timer_interval=0.05, ipc_term_buffer_length="64k"
    ) as running:
        yield running


def test_streams_go_on_and_commands_keep_their_order(driver, names):
    answered = []
    with Aeron(driver.aeron_dir) as waiting, Aeron(driver.aeron_dir) as other:
        listener = other.add_subscription("aeron:ipc", 1004)
        speaker = other.add_publication("aeron:ipc", 1004)

        def add(aeron, name, channel):
            aeron.add_publication(channel, 1005)
            answered.append(name)

        first = threading.Thread(target=add, args=(waiting, "slow", SLOW))
        first.start()
        assert names.asked.wait(DEADLINE_S)
        second = threading.Thread(target=add, args=(other, "after", "aeron:ipc"))
        second.start()

        for number in range(2000):
            speaker.send(number.to_bytes(4, "little"), timeout=DEADLINE_S)
            while not (messages := listener.poll_messages()):
                pass
            assert int.from_bytes(messages[0].data, "little") == number
        assert answered == []
        names.answer.set()
        for thread in (first, second):
            thread.join(DEADLINE_S)
        assert sorted(answered) == ["after", "slow"]


def test_a_driver_closes_while_a_name_is_looked_up(names):
    driver = MediaDriver.embedded()
    with driver:
        aeron = Aeron(driver.aeron_dir)
        failures = []

        def add():
            try:
                aeron.add_publication(SLOW, 1005)
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=add)
        thread.start()
        assert names.asked.wait(DEADLINE_S)
        driver.close()
        names.answer.set()
        aeron.close()
        thread.join(DEADLINE_S)
    assert len(failures) == 1


@pytest.mark.parametrize("beside", [True, False])
def test_an_unknown_host_is_refused_as_by_the_reference(beside):
    with (
        MediaDriver.embedded(driver_async_executor_enabled=beside) as driver,
        Aeron(driver.aeron_dir) as aeron,
    ):
        with pytest.raises(RegistrationError, match=r"unresolved - endpoint=no\.invalid:1, name-"):
            aeron.add_publication("aeron:udp?endpoint=no.invalid:1", 1005)
        counters = driver.context.counters
        assert counters.counter_value(SystemCounter.NAME_RESOLVER_MAX_TIME) > 0
