"""How clients come, live and end, on both drivers."""

import asyncio
import contextlib
import ctypes
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable

import peer
import pytest

from aerolog.transport.client import (
    Aeron,
    AsyncSubscription,
    ClientClosed,
    CounterAvailable,
    CountersReader,
    CounterUnavailable,
    ErrorLog,
    ErrorRaised,
    ImageAvailable,
    ImageUnavailable,
    LossReport,
    OfferStatus,
    ReconnectingAeron,
    driver_is_active,
    request_termination,
)
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.errors import (
    AerologError,
    ClientTimeoutError,
    ConductorServiceTimeoutError,
    ConfigurationError,
    DriverTimeoutError,
    MessageTooLargeError,
    ReentrantCallError,
    RegistrationError,
    ResourceClosedError,
)

pytestmark = pytest.mark.interop

IMPLEMENTATIONS = pytest.mark.parametrize("implementation", ["ours", "reference"])
QUICK = {
    "aeron.client.liveness.timeout": "3s",
    "aeron.publication.unblock.timeout": "4s",
    "aeron.timer.interval": "100ms",
}


def test_a_client_without_driver_says_what_it_waited_for(aeron_dir):
    with pytest.raises(DriverTimeoutError, match=r"CnC file not created: .*cnc.dat"):
        Aeron(aeron_dir, driver_timeout=0.1)


def test_a_truncated_cnc_file_is_not_mapped(aeron_dir):
    aeron_dir.mkdir()
    (aeron_dir / "cnc.dat").write_bytes(b"\0\2\0\0" + bytes(300))
    with pytest.raises(AerologError, match=r"cnc.dat|CnC"):
        Aeron(aeron_dir, driver_timeout=0.1)


def test_a_client_waits_for_a_driver_that_starts_later(start_server, aeron_dir):
    found = []
    waiting = threading.Thread(target=lambda: found.append(Aeron(aeron_dir, driver_timeout=30)))
    waiting.start()
    server = start_server("ours", "driver", aeron_dir=aeron_dir)
    waiting.join(30)
    with found[0] as client:
        assert client.add_publication("aeron:ipc?term-length=64k", 1).channel
    assert server.process.running


def test_the_driver_sees_name_and_heartbeat_of_the_client(connect, any_driver, wait_until):
    client = connect(any_driver, name="shown", keepalive_interval=0.05)
    client.add_subscription("aeron:ipc", 1)

    def label():
        counter = client.counters.find(
            type_id=CounterType.CLIENT_HEARTBEAT, registration_id=client.client_id
        )
        return counter is not None and "name=shown version=1.51.0" in counter.label and counter

    counter = wait_until(label, "the signed label")
    assert counter.label.startswith(f"client-heartbeat: id={client.client_id} name=shown ")
    first = counter.value
    wait_until(lambda: counter.value > first, "the next heartbeat")


@pytest.mark.parametrize("answered", [False, True])
@IMPLEMENTATIONS
def test_heartbeats_go_on_while_the_interpreter_is_held(
    start_server, connect, implementation, stream_id, answered
):
    """Also when a message of the driver comes meanwhile, for which the client needs it."""
    server = start_server(implementation, "driver", properties=QUICK)
    client = connect(server, keepalive_interval=0.1)
    publication = client.add_publication("aeron:ipc?term-length=64k", stream_id)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication.wait_connected(30, writable=True)
    subscription.wait_connected(30)
    adding = client.add_publication_async("aeron:ipc", stream_id) if answered else None
    ctypes.PyDLL(None).usleep(4_500_000)
    assert publication.offer(b"alive") > 0
    assert [m.data for m in subscription.poll_messages()] == [b"alive"]
    assert adding is None or adding.result(30).channel == "aeron:ipc"
    assert client.close_reason is None
    assert client.errors == []


@IMPLEMENTATIONS
def test_a_driver_that_stops_ends_its_clients(start_server, connect, implementation, wait_until):
    server = start_server(implementation, "driver")
    closed = []
    client = connect(server, keepalive_interval=0.05, on_close=lambda: closed.append("handler"))
    client.add_close_handler(lambda: closed.append("late"))
    events = client.events(timeout=30)
    publication = client.add_publication("aeron:ipc?term-length=64k", 1)
    subscription = client.add_subscription("aeron:ipc", 1, on_image_gone=closed.append)
    subscription.wait_connected(30)
    image = subscription.images[0]
    assert server.process.stop() == 0
    wait_until(lambda: client.closed, "the client to notice")
    assert isinstance(client.close_reason, DriverTimeoutError)
    assert "was shut down" in str(client.close_reason)
    assert closed == [image, "handler", "late"]
    assert image.closed
    assert client.errors == [client.close_reason]
    assert publication.offer(b"x") is OfferStatus.CLOSED
    assert publication.closed
    assert subscription.closed
    for call in (
        lambda: subscription.poll(print),
        subscription.poll_messages,
        lambda: list(subscription.messages()),
        image.poll_messages,
        lambda: client.add_subscription("aeron:ipc", 1),
    ):
        with pytest.raises(DriverTimeoutError, match="was shut down: start one"):
            call()
    with pytest.raises(DriverTimeoutError, match="was shut down: start one"):
        client.add_publication("aeron:ipc", 1)
    kinds = [type(event) for event in events if not isinstance(event, CounterAvailable)]
    assert kinds == [ImageAvailable, ErrorRaised, ImageUnavailable, ClientClosed]


@IMPLEMENTATIONS
def test_a_driver_that_dies_is_noticed_within_its_timeout(
    start_server, connect, implementation, wait_until
):
    server = start_server(implementation, "driver")
    client = connect(server, keepalive_interval=0.1, driver_timeout=4.0)
    waiting = client.add_subscription("aeron:ipc", 1001)
    awaited = AsyncSubscription(client.add_subscription("aeron:ipc", 1002))
    raised: list[BaseException] = []

    def iterate(run: Callable[[], object]) -> None:
        try:
            run()
        except BaseException as error:
            raised.append(error)

    async def iterate_async() -> None:
        async for _ in awaited:
            pass

    threads = [
        threading.Thread(target=iterate, args=(run,), daemon=True)
        for run in (lambda: list(waiting.messages()), lambda: asyncio.run(iterate_async()))
    ]
    for thread in threads:
        thread.start()
    server.process.kill()
    wait_until(lambda: client.closed, "the client to notice")
    for thread in threads:
        thread.join(10)
    assert [type(error) for error in raised] == [DriverTimeoutError] * 2
    assert {str(error) for error in raised} == {str(client.close_reason)}
    assert "its last heartbeat is" in str(client.close_reason)
    assert not driver_is_active(server.aeron_dir, timeout=0.5)


@IMPLEMENTATIONS
def test_a_client_that_was_stopped_too_long_ends_itself(start_server, implementation, tmp_path):
    server = start_server(implementation, "driver", properties=QUICK)
    program = textwrap.dedent("""
        import sys, time
        from aerolog.transport.client import Aeron
        client = Aeron(sys.argv[1], keepalive_interval=0.1, on_error=lambda error: None)
        publication = client.add_publication("aeron:ipc?term-length=64k", 1)
        print("ready", flush=True)
        deadline = time.monotonic() + 30
        while not client.closed and time.monotonic() < deadline:
            time.sleep(0.01)
        print(type(client.close_reason).__name__, int(publication.offer(b"x")), flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", program, server.aeron_dir], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGSTOP)
        reader = CountersReader(server.aeron_dir)
        deadline = time.monotonic() + 30
        while reader.find(type_id=CounterType.CLIENT_HEARTBEAT) is not None:
            assert time.monotonic() < deadline, "the driver did not give the client up"
            time.sleep(0.01)
        process.send_signal(signal.SIGCONT)
        name, status = process.stdout.readline().split()
    finally:
        process.kill()
        process.wait()
    accepted = (ConductorServiceTimeoutError, ClientTimeoutError)
    assert name in {error.__name__ for error in accepted}
    assert int(status) == OfferStatus.CLOSED


def test_closing_a_client_tells_the_driver_and_ends_everything(
    connect, any_driver, stream_id, wait_until
):
    watcher = connect(any_driver)
    order = []
    client = connect(any_driver, on_close=lambda: order.append("closed"))
    publication = client.add_publication("aeron:ipc?term-length=64k", stream_id)
    subscription = client.add_subscription("aeron:ipc", stream_id, on_image_gone=order.append)
    counter = client.add_counter(1001, "mine")
    subscription.wait_connected(30)
    image = subscription.images[0]
    others = set(threading.enumerate()) - {client._thread}
    client.close()
    client.close()
    assert set(threading.enumerate()) <= others
    assert order == [image, "closed"]
    assert client.close_reason is None
    assert publication.offer(b"x") is OfferStatus.CLOSED
    with pytest.raises(ResourceClosedError, match="the Aeron client is closed"):
        client.add_publication("aeron:ipc", stream_id)
    with pytest.raises(ResourceClosedError, match="closed"):
        client.next_correlation_id()
    with pytest.raises(ResourceClosedError):
        counter.value = 1
    wait_until(
        lambda: (
            watcher.counters.find(
                type_id=CounterType.CLIENT_HEARTBEAT, registration_id=client.client_id
            )
            is None
        ),
        "the driver to forget the client",
    )


@pytest.mark.error_log("Term length less than min length", "only supports UDP media")
def test_refused_commands_raise_the_drivers_reason(aeron, stream_id):
    with pytest.raises(RegistrationError) as caught:
        aeron.add_publication("aeron:ipc?term-length=1000", stream_id)
    assert caught.value.code.name == "GENERIC_ERROR"
    assert "less than min length of 65536: length=1000" in str(caught.value)
    assert str(caught.value).endswith("errorCodeValue=11")
    with pytest.raises(RegistrationError) as caught:
        aeron.add_subscription("aeron:foo?x=1", stream_id)
    assert caught.value.code.name == "INVALID_CHANNEL"
    with pytest.raises(ConfigurationError, match="32-bit"):
        aeron.add_publication("aeron:ipc", 1 << 31)


@pytest.mark.error_log("Term length less than min length")
def test_commands_without_waiting_give_futures(aeron, stream_id, wait_until):
    future = aeron.add_publication_async("aeron:ipc?term-length=64k", stream_id)
    publication = future.result(30)
    assert publication.registration_id == future.registration_id
    assert future.result() is publication
    assert not aeron.is_command_active(future.registration_id)
    bad = aeron.add_publication_async("aeron:ipc?term-length=7", stream_id)
    good = aeron.add_exclusive_publication_async("aeron:ipc?term-length=64k", stream_id)
    counter = aeron.add_counter_async(1001, "later").result(30)
    assert counter.label == "later"
    assert good.exception(30) is None
    assert isinstance(bad.exception(30), RegistrationError), bad.exception(30)
    wait_until(lambda: not aeron.has_active_commands(), "all answers")


def test_a_cancelled_add_is_removed_when_it_arrives(connect, any_driver, stream_id, wait_until):
    client = connect(any_driver, invoker=True)
    future = client.add_publication_async("aeron:ipc?term-length=64k", stream_id)
    assert future.cancel()
    assert future.cancelled()

    def gone():
        client.do_work()
        return not client.has_active_commands()

    wait_until(gone, "the add and its removal")
    subscription = client.add_subscription("aeron:ipc", stream_id)
    other = client.add_publication("aeron:ipc?term-length=64k", stream_id)

    def has_image():
        client.do_work()
        return subscription.images

    wait_until(has_image, "the image of the new publication")
    assert [image.correlation_id for image in subscription.images] == [other.registration_id]


def test_handlers_may_not_call_back_but_their_errors_are_reported(
    connect, any_driver, stream_id, wait_until
):
    client = connect(any_driver)
    raised = []

    def on_image(_):
        try:
            client.add_publication("aeron:ipc", stream_id)
        except ReentrantCallError as error:
            raised.append(error)
        raise KeyError("from the handler")

    subscription = client.add_subscription("aeron:ipc", stream_id, on_image=on_image)
    publication = client.add_publication("aeron:ipc?term-length=64k", stream_id)
    wait_until(lambda: client.errors, "the handler's error")
    assert "may not call" in str(raised[0])
    assert isinstance(client.errors[0], KeyError)
    assert publication.wait_connected(30) is publication
    assert len(subscription.images) == 1


def test_events_tell_what_happened_in_order(aeron, stream_id, wait_until):
    with aeron.events(timeout=30) as events:
        subscription = aeron.add_subscription("aeron:ipc", stream_id)
        publication = aeron.add_publication("aeron:ipc?term-length=64k", stream_id)
        subscription.wait_connected(30)
        image = subscription.images[0]
        counter = aeron.add_counter(1001, "seen")
        counter.close()
        publication.close()
        wait_until(lambda: image.closed, "the image to go")
        wanted = {ImageAvailable, ImageUnavailable, CounterUnavailable}
        found = []
        while wanted - {type(event) for event in found}:
            found.append(events.get(30))
    mine = [e for e in found if isinstance(e, ImageAvailable | ImageUnavailable)]
    assert [type(event) for event in mine] == [ImageAvailable, ImageUnavailable]
    assert all((e.subscription, e.image) == (subscription, image) for e in mine)


def test_counters_are_written_found_and_freed(connect, any_driver, aeron, wait_until):
    come, gone = [], []
    watcher = connect(
        any_driver,
        on_counter=lambda _, registration_id, counter_id: come.append(
            (registration_id, counter_id)
        ),
        on_counter_gone=lambda _, registration_id, counter_id: gone.append(registration_id),
    )
    counter = aeron.add_counter(1234, "a label", b"key")
    mine = (counter.registration_id, counter.counter_id)
    counter.value = 5
    assert counter.add(3) == 5
    assert counter.propose_max(7) is False
    assert counter.compare_and_set(8, -1) is True
    view = watcher.counters[counter.counter_id]
    assert (view.value, view.label, view.type_id) == (-1, "a label", 1234)
    assert view.key.rstrip(b"\0") == b"key"
    assert view.owner_id == aeron.client_id
    assert watcher.counters.find(type_id=1234, registration_id=mine[0]).counter_id == mine[1]
    assert watcher.counters.to_dict()["a label"] == -1
    assert any(info.label == "a label" for info in watcher.counters.infos())
    wait_until(lambda: mine in come, "the other client's handler")
    counter.close()
    wait_until(lambda: mine[0] in gone, "the other client's handler")
    wait_until(lambda: not view.is_active, "the driver to free it: it tells that it will first")
    with pytest.raises(KeyError):
        watcher.counters[65536 * 2]
    with pytest.raises(ConfigurationError, match="key of 113 bytes"):
        aeron.add_counter(1001, "x", bytes(113))
    with pytest.raises(ConfigurationError, match="label of 381"):
        aeron.add_counter(1001, "x" * 381)


def test_static_counters_are_shared_and_stay(connect, any_driver, stream_id):
    first = connect(any_driver)
    counter = first.add_static_counter(1500, "static", registration_id=stream_id)
    again = first.add_static_counter(1500, "other", registration_id=stream_id)
    assert again.counter_id == counter.counter_id
    counter.value = 11
    counter.close()
    first.close()
    reader = CountersReader(any_driver.aeron_dir)
    assert reader[counter.counter_id].value == 11
    assert reader[counter.counter_id].owner_id == -1
    assert reader.find(label="Bytes sent").counter_id == 0
    assert reader.to_numpy()["id"][0] == 0


def test_session_ids_are_drawn_by_the_driver(aeron, stream_id):
    first, second = aeron.next_session_id(stream_id), aeron.next_session_id(stream_id)
    assert first != second
    publication = aeron.add_publication(f"aeron:ipc?term-length=64k|session-id={second}", stream_id)
    assert publication.session_id == second
    assert aeron.next_correlation_id() < aeron.next_correlation_id()


@pytest.mark.error_log("onPublicationError")
def test_a_rejected_image_goes_and_the_publisher_hears_of_it(stream, wait_until):
    stream.image.reject("not wanted")
    wait_until(lambda: stream.image.closed, "the image to go")
    wait_until(lambda: not stream.publication.is_connected, "the publication to have nobody")
    with pytest.raises(MessageTooLargeError, match="at most 1023 bytes"):
        stream.image.reject("x" * 1024)


@pytest.mark.error_log("Unable to resolve image for correlationId", "onPublicationError")
def test_rejecting_an_image_of_nobody_is_an_error(aeron, stream, wait_until):
    image = stream.image
    stream.publication.close()
    wait_until(lambda: image.closed, "the image to go")

    def refused():
        try:
            image.reject("too late")
        except RegistrationError as error:
            return str(error)
        return ""

    wait_until(lambda: "Unable to resolve image" in refused(), "the publication to go")


def test_an_unclosed_resource_warns_and_is_removed(aeron, stream, wait_until):
    gc.collect()  # what earlier tests have left warns now
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for add in (aeron.add_publication, aeron.add_exclusive_publication):
            add("aeron:ipc?term-length=64k", stream.stream_id)
        aeron.add_subscription("aeron:ipc", stream.stream_id)
        aeron.add_counter(1001, "forgotten")
        gc.collect()
    assert {w.category for w in caught} == {ResourceWarning}
    assert len(caught) == 4
    wait_until(lambda: len(stream.subscription.images) == 1, "the forgotten images to go")
    wait_until(lambda: aeron.counters.find(label="forgotten") is None, "the forgotten counter")
    assert stream.publication.offer(b"still here") > 0


def test_an_unclosed_client_warns_and_is_closed(any_driver, connect, wait_until):
    watcher = connect(any_driver)

    def forget():
        client = Aeron(any_driver.aeron_dir)
        client.add_subscription("aeron:ipc", 1).close()
        return client.client_id

    with pytest.warns(ResourceWarning, match="unclosed <Aeron"):
        client_id = forget()
    wait_until(
        lambda: (
            watcher.counters.find(type_id=CounterType.CLIENT_HEARTBEAT, registration_id=client_id)
            is None
        ),
        "the driver to forget the client",
    )


@contextlib.contextmanager
def held_by_another_thread(lock, until):
    """Some thread is in the client when the fork comes: in the child it never leaves."""
    held = threading.Event()

    def hold():
        with lock:
            held.set()
            assert until.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(20)
    yield
    thread.join(20)


def test_a_forked_child_is_told_and_the_parent_goes_on(stream, aeron):
    publication, subscription = stream.publication, stream.subscription
    publication.offer(b"before")
    reader, writer = os.pipe()
    forked = threading.Event()
    with held_by_another_thread(aeron.conductor.lock, forked):
        pid = os.fork()
        forked.set()
    if pid == 0:
        told = 0
        for attempt in (
            lambda: publication.offer(b"from the child"),
            lambda: subscription.poll(print),
            lambda: stream.image.poll(print),
            lambda: aeron.add_publication("aeron:ipc", 1),
        ):
            try:
                attempt()
            except ResourceClosedError as error:
                told += "fork" in str(error)
        aeron.close()
        os.write(writer, b"%d" % told)
        os._exit(0)
    os.close(writer)
    try:
        assert os.read(reader, 10) == b"4"
    finally:
        os.close(reader)
        os.waitpid(pid, 0)
    assert publication.offer(b"after") > 0
    assert stream.take(2) == [b"before", b"after"]
    assert not aeron.closed


def test_a_blocking_send_ends_at_ctrl_c(any_driver):
    program = textwrap.dedent("""
        import sys
        from aerolog.transport.client import Aeron
        with Aeron(sys.argv[1]) as client:
            publication = client.add_publication("aeron:ipc?term-length=64k", 77)
            try:
                print("ready", flush=True)
                publication.send(b"nobody listens")
            except KeyboardInterrupt:
                print("interrupted", flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", program, any_driver.aeron_dir], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_closing_from_another_thread_never_hurts_those_inside(connect, any_driver, stream_id):
    for attempt in range(10):
        client = connect(any_driver)
        subscription = client.add_subscription("aeron:ipc", stream_id + attempt * 1000)
        publication = client.add_publication("aeron:ipc?term-length=64k", subscription.stream_id)
        publication.wait_connected(30, writable=True)
        ended = []

        def poll(subscription=subscription, ended=ended):
            while not subscription.closed:
                subscription.poll(lambda data, _: data[0])
                subscription.poll_arrow(10)
            ended.append(subscription.poll(print))

        def offer(publication=publication, ended=ended):
            while publication.offer(b"x" * 2000) != OfferStatus.CLOSED:
                publication.offer_many([b"y"] * 10)
            ended.append(publication.offer(b"x"))

        threads = [threading.Thread(target=poll), threading.Thread(target=offer)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 30
        while publication.position < 50_000 and time.monotonic() < deadline:
            time.sleep(0.001)
        if attempt % 2:
            subscription.close()
            publication.close()
        client.close()
        for thread in threads:
            thread.join(60)
        assert sorted(ended) == [OfferStatus.CLOSED, 0]


def test_threads_add_and_close_side_by_side(aeron, stream_id, wait_until):
    failures = []

    def work(number):
        try:
            for turn in range(10):
                stream = stream_id + 1000 * number + turn
                with (
                    aeron.add_subscription("aeron:ipc", stream) as subscription,
                    aeron.add_publication("aeron:ipc?term-length=64k", stream) as publication,
                    aeron.add_counter(1001, f"{number}") as counter,
                ):
                    publication.wait_connected(20, writable=True)
                    publication.send(b"%d" % stream, timeout=20)
                    counter.value = turn
                    data = next(subscription.messages(timeout=20)).data
                    assert data == b"%d" % stream
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    wait_until(lambda: not aeron.has_active_commands(), "the removals")
    assert len(aeron.conductor.logs) == 0
    assert aeron.errors == []


def test_an_invoked_client_works_on_the_callers_thread(connect, any_driver, stream_id):
    threads = set(threading.enumerate())
    client = connect(any_driver, invoker=True)
    assert set(threading.enumerate()) <= threads
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication = client.add_publication("aeron:ipc?term-length=64k", stream_id)
    publication.wait_connected(30, writable=True)
    publication.send(b"x", timeout=30)
    got = next(subscription.messages(timeout=30))
    assert got.data == b"x"
    with pytest.raises(ConfigurationError, match="invoker=True"):
        connect(any_driver).do_work()


@IMPLEMENTATIONS
def test_a_reconnecting_client_adds_its_streams_again(start_server, implementation, aeron_dir):
    first = start_server(implementation, "driver", aeron_dir=aeron_dir)
    renewed = []
    with ReconnectingAeron(
        aeron_dir,
        on_reconnect=renewed.append,
        keepalive_interval=0.05,
        driver_timeout=20,
        on_error=lambda _: None,
    ) as client:
        subscription = client.subscription("aeron:ipc", 5)
        publication = client.publication("aeron:ipc?term-length=64k", 5)
        before = publication.get()
        assert first.process.stop() == 0
        deadline = time.monotonic() + 30
        while not client.aeron.closed and time.monotonic() < deadline:
            time.sleep(0.001)
        start_server(implementation, "driver", aeron_dir=aeron_dir)
        after = publication.get()
        assert after is not before
        assert renewed == [client.aeron]
        after.wait_connected(30, writable=True)
        after.offer(b"again")
        assert next(subscription.get().messages(timeout=30)).data == b"again"
    with pytest.raises(ResourceClosedError):
        publication.get()


@IMPLEMENTATIONS
def test_a_driver_ends_on_request_when_it_is_allowed_to(
    reference, start_server, implementation, aeron_dir
):
    allow = {
        "aeron.driver.termination.validator": "io.aeron.driver.DefaultAllowTerminationValidator"
    }
    if implementation == "ours":
        process = start_server("ours", "driver", aeron_dir=aeron_dir, properties=allow).process
    else:
        properties = {"aeron.dir": str(aeron_dir), **allow}
        main = reference.command("io.aeron.driver.MediaDriver", properties=properties)
        process = peer.ServerProcess("java-driver-main", main)
    try:
        Aeron(aeron_dir, driver_timeout=60).close()
        assert driver_is_active(aeron_dir)
        request_termination(aeron_dir, b"token")
        assert process.wait() == 0
    finally:
        if process.running:
            process.kill()
    assert not driver_is_active(aeron_dir)


@pytest.mark.error_log("Term length less than min length")
def test_error_log_and_loss_report_are_read_from_the_directory(aeron, any_driver, wait_until):
    with pytest.raises(RegistrationError):
        aeron.add_publication("aeron:ipc?term-length=999", 1)

    def logged():
        entries = list(ErrorLog(any_driver.aeron_dir))
        return entries if any("length=999" in entry.text for entry in entries) else []

    found = wait_until(logged, "the error in the log")
    assert all(entry.count > 0 and entry.first_ms <= entry.last_ms for entry in found)
    assert ErrorLog(any_driver.aeron_dir).since(2**62) == []
    losses = list(LossReport(any_driver.aeron_dir))
    assert all(entry.observation_count > 0 for entry in losses)
