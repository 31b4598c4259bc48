"""The client's conductor against a played driver: wrong, late and hostile messages included."""

import re

import pytest

from aerolog.transport.client import Aeron, ClientOptions, OfferStatus
from aerolog.transport.client.options import default_aeron_dir
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.errors import (
    AerologError,
    BroadcastLappedError,
    ChannelEndpointError,
    ClientTimeoutError,
    ConductorServiceTimeoutError,
    ConfigurationError,
    DriverTimeoutError,
    FileFormatError,
    LogGoneError,
    MessageFormatError,
    RegistrationError,
)
from aerolog.transport.protocol import commands, responses


def test_a_driver_that_does_not_answer_is_waited_for_no_longer_than_said(driver, aeron):
    driver.silent = True
    with pytest.raises(DriverTimeoutError, match="no response from MediaDriver within 0.5s"):
        aeron.add_publication("aeron:ipc", 1, timeout=0.5)


def test_an_answer_that_comes_too_late_is_taken_back(driver, aeron):
    driver.silent = True
    with pytest.raises(DriverTimeoutError):
        aeron.add_subscription("aeron:ipc", 1, timeout=0.5)
    late = driver.asked(commands.AddSubscription)[0].correlation_id
    driver.send(responses.SubscriptionReady(late, -1))
    aeron.do_work()
    driver.turn()
    assert [c.registration_id for c in driver.asked(commands.RemoveSubscription)] == [late]


def test_commands_carry_client_stream_and_channel(driver, aeron):
    aeron.add_publication("aeron:ipc?alias=x", -7)
    assert driver.received == [
        commands.AddPublication(aeron.client_id, aeron.client_id + 1, -7, "aeron:ipc?alias=x")
    ]


def test_answers_to_others_are_not_taken_for_ours(driver, aeron):
    driver.silent = True
    future = aeron.add_publication_async("aeron:ipc", 1)
    for response in (
        responses.OnError(future.registration_id + 1, 1, "not ours"),
        responses.OperationSuccess(future.registration_id + 2),
        responses.SubscriptionReady(future.registration_id + 3, -1),
        responses.ClientTimeout(aeron.client_id + 1),
    ):
        driver.send(response)
    aeron.do_work()
    assert not future.done()
    driver.send(responses.OnError(future.registration_id, 12, "no space"))
    with pytest.raises(RegistrationError, match="no space, errorCodeValue=12"):
        future.result(1)


def test_malformed_messages_are_reported_and_passed_over(driver, aeron, errors):
    driver.transmitter.send(responses.AvailableImage.TYPE_ID, b"short")
    driver.transmitter.send(0x7777, b"of a later driver")
    driver.transmitter.send(
        responses.OnError.TYPE_ID, (1).to_bytes(8, "little") + b"\1\0\0\0\xff\xff\xff\x7f"
    )
    aeron.do_work()
    assert [type(error) for error in errors] == [MessageFormatError, MessageFormatError]
    assert aeron.add_publication("aeron:ipc", 1).offer(b"fine") > 0


def test_a_log_that_is_gone_fails_its_add_and_nothing_else(driver, aeron):
    def answer(command):
        return [
            responses.PublicationReady(
                command.correlation_id, command.correlation_id, 1, 1, 0, -1, "/nonexistent"
            )
        ]

    driver.answers[commands.AddPublication] = answer
    with pytest.raises(LogGoneError, match="add the stream anew: '/nonexistent'"):
        aeron.add_publication("aeron:ipc", 1)
    driver.turn()
    assert len(driver.asked(commands.RemovePublication)) == 1
    assert aeron.add_exclusive_publication("aeron:ipc", 1).offer(b"fine") > 0


@pytest.mark.parametrize("content", [b"", b"garbage" * 2000, bytes(200_704)])
def test_a_log_that_is_none_fails_its_add(driver, aeron, tmp_path, content):
    path = tmp_path / "bad.logbuffer"
    path.write_bytes(content)
    driver.counters.allocate(CounterType.PUBLISHER_LIMIT, "pub-lmt")
    driver.answers[commands.AddPublication] = lambda c: [
        responses.PublicationReady(c.correlation_id, c.correlation_id, 1, 1, 0, -1, str(path))
    ]
    with pytest.raises(FileFormatError):
        aeron.add_publication("aeron:ipc", 1)


@pytest.mark.parametrize("counter_id", [-1, 256, 2**31 - 1])
def test_a_counter_that_does_not_exist_is_not_touched(driver, aeron, errors, counter_id):
    good = driver.add_publication
    driver.answers[commands.AddPublication] = lambda c: [
        responses.PublicationReady(
            c.correlation_id, c.correlation_id, 1, 1, counter_id, -1, good(c)[0].log_file
        )
    ]
    with pytest.raises(MessageFormatError, match=f"counter {counter_id} as the limit"):
        aeron.add_publication("aeron:ipc", 1)
    subscription = aeron.add_subscription("aeron:ipc", 1)
    log_id = next(iter(driver.logs))
    driver.available_image(subscription, log_id, position_counter_id=counter_id)
    aeron.do_work()
    assert subscription.images == ()
    assert f"counter {counter_id} as the position" in str(errors[-1])
    assert len(aeron.conductor.logs) == 0


def test_an_image_whose_log_is_gone_is_reported_once(driver, aeron, errors):
    subscription = aeron.add_subscription("aeron:ipc", 1)
    aeron.add_publication("aeron:ipc", 2)
    log_id = next(iter(driver.logs))
    driver.available_image(subscription, log_id, correlation_id=99, log_file="/nonexistent")
    driver.send(responses.UnavailableImage(99, subscription.registration_id, 1, "aeron:ipc"))
    aeron.do_work()
    assert len(errors) == 1
    assert "Failed to map log buffer with registrationId=99, channel=aeron:ipc" in str(errors[0])
    assert isinstance(errors[0].__cause__, LogGoneError)
    assert not aeron.closed


def test_an_image_is_listed_before_and_closed_after_its_handlers(driver, aeron):
    publication = aeron.add_publication("aeron:ipc", 1)
    publication.offer(b"unread")
    seen = []
    subscription = aeron.add_subscription(
        "aeron:ipc",
        1,
        on_image=lambda image: seen.append((image in subscription.images, image.closed)),
        on_image_gone=lambda image: seen.append(
            (image in subscription.images, image.closed, image.position)
        ),
    )
    driver.available_image(subscription, publication.registration_id)
    aeron.do_work()
    subscription.poll(lambda *_: None)
    driver.send(
        responses.UnavailableImage(
            publication.registration_id, subscription.registration_id, 1, "aeron:ipc"
        )
    )
    aeron.do_work()
    assert seen == [(True, False), (False, True, 64)]


def test_a_publication_and_its_images_share_one_mapping_while_any_is_open(driver, aeron):
    publication = aeron.add_publication("aeron:ipc", 1)
    subscription = aeron.add_subscription("aeron:ipc", 1)
    driver.available_image(subscription, publication.registration_id)
    aeron.do_work()
    assert len(aeron.conductor.logs) == 1
    publication.close()
    assert len(aeron.conductor.logs) == 1
    subscription.close()
    assert len(aeron.conductor.logs) == 0


def test_commands_that_find_the_ring_full_are_refused_and_closes_are_sent_later(driver, aeron):
    publication = aeron.add_publication("aeron:ipc", 1)
    ring = driver.cnc.to_driver
    while ring.write(commands.ClientKeepalive.TYPE_ID, bytes(16)):
        pass
    with pytest.raises(AerologError, match="failed to write AddSubscription command"):
        aeron.add_subscription("aeron:ipc", 1)
    publication.close()
    assert publication.offer(b"x") is OfferStatus.CLOSED
    driver.turn()
    assert driver.asked(commands.RemovePublication) == []
    aeron.do_work()
    driver.turn()
    removed = driver.asked(commands.RemovePublication)
    assert [c.registration_id for c in removed] == [publication.registration_id]


def test_a_lapped_client_ends_with_that_reason(driver, aeron, errors):
    for _ in range(2000):
        driver.send(responses.OperationSuccess(12345))
    aeron.do_work()
    assert aeron.closed
    assert isinstance(aeron.close_reason, BroadcastLappedError)
    assert str(errors[0]) == "unable to keep up with broadcast"


def test_a_client_that_the_driver_gave_up_ends(driver, aeron):
    publication = aeron.add_publication("aeron:ipc", 1)
    driver.send(responses.ClientTimeout(aeron.client_id))
    aeron.do_work()
    assert isinstance(aeron.close_reason, ClientTimeoutError)
    assert publication.offer(b"x") is OfferStatus.CLOSED
    with pytest.raises(ClientTimeoutError, match="client timeout from driver"):
        aeron.add_publication("aeron:ipc", 1)


def test_a_channel_error_is_reported_for_each_user_of_the_channel(driver, aeron, errors):
    driver.answers[commands.AddSubscription] = lambda c: [
        responses.SubscriptionReady(c.correlation_id, 55)
    ]
    subscriptions = [aeron.add_subscription("aeron:udp?endpoint=h:1", i) for i in range(2)]
    driver.send(responses.OnError(55, 4, "cannot bind"))
    aeron.do_work()
    assert [type(error) for error in errors] == [ChannelEndpointError] * len(subscriptions)
    assert errors[0].status_indicator_id == 55


def test_the_end_of_a_client_fails_what_waits(driver, aeron):
    driver.silent = True
    future = aeron.add_publication_async("aeron:ipc", 1)
    driver.cnc.mark_closed()
    driver.beating = False
    driver.clock.advance_ns(600_000_000)
    aeron.do_work()
    assert isinstance(aeron.close_reason, DriverTimeoutError)
    with pytest.raises(DriverTimeoutError, match="was shut down: start one"):
        future.result(0)


def test_only_a_missing_driver_is_silent(driver, clock, aeron):
    clock.advance_ns(4_000_000_000)
    aeron.do_work()
    driver.turn()
    clock.advance_ns(4_000_000_000)
    aeron.do_work()
    assert not aeron.closed


def test_a_service_gap_ends_the_client(clock, aeron):
    clock.advance_ns(5_000_000_001)
    aeron.do_work()
    assert isinstance(aeron.close_reason, ConductorServiceTimeoutError)
    assert "not serviced for 5.000 s, more than the 5.000 s" in str(aeron.close_reason)


def test_the_heartbeat_counter_is_found_signed_and_beaten(driver, clock, connect):
    aeron = connect(name="me")
    counter_id = driver.add_heartbeat(aeron.client_id)
    clock.advance_ns(600_000_000)
    aeron.do_work()
    label = driver.counters.counter_label(counter_id)
    assert label.startswith(
        f"client-heartbeat: id={aeron.client_id} name=me version=1.51.0 commit="
    )
    assert driver.counters.counter_value(counter_id) == clock.now_epoch_ms()
    clock.advance_ns(100_000_000)
    aeron.do_work()
    assert driver.counters.counter_value(counter_id) == clock.now_epoch_ms() - 100
    driver.turn()
    clock.advance_ns(500_000_000)
    aeron.do_work()
    assert driver.counters.counter_value(counter_id) == clock.now_epoch_ms()
    assert driver.counters.counter_label(counter_id) == label
    driver.counters.free(counter_id)
    clock.advance_ns(600_000_000)
    aeron.do_work()
    assert f"closed its heartbeat counter {counter_id}:" in str(aeron.close_reason)


def test_session_ids_are_drawn_here_from_a_driver_that_cannot(driver, aeron):
    drawn = {aeron.next_session_id(1) for _ in range(10)}
    assert len(drawn) > 1
    assert driver.asked(commands.GetNextAvailableSessionId) == []


def test_closing_says_good_bye_last(driver, connect):
    aeron = connect()
    aeron.add_publication("aeron:ipc", 1)
    aeron.close()
    driver.turn()
    assert isinstance(driver.received[-1], commands.ClientClose)
    assert driver.received[-1].client_id == aeron.client_id
    assert aeron.do_work() == 0


def test_options_come_from_environment_and_keywords(monkeypatch):
    monkeypatch.setenv("AERON_DIR", "/somewhere")
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "2500")
    monkeypatch.setenv("AERON_CLIENT_NAME", "from the environment")
    options = ClientOptions.of(None)
    assert default_aeron_dir() == options.aeron_dir == "/somewhere"
    assert options.driver_timeout == 2.5
    assert options.name == "from the environment"
    options = ClientOptions.of("/other", driver_timeout=0.5, name="mine", idle_sleep="1ms")
    assert (options.aeron_dir, options.name) == ("/other", "mine")
    assert (options.driver_timeout_ns, options.idle_sleep_ns) == (500_000_000, 1_000_000)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "x" * 101}, "at most 100 characters"),
        ({"idle_sleep": 2.0}, "idle"),
        ({"driver_invoker": print}, "invoker=True"),
        ({"nonsense": 1}, "unknown option 'nonsense'"),
        ({"keepalive_interval": -1}, "keepalive_interval"),
    ],
)
def test_options_that_cannot_be_used_are_refused_by_name(options, said):
    with pytest.raises(ConfigurationError, match=said):
        ClientOptions.of("/nowhere", **options)


def test_a_keepalive_interval_longer_than_the_driver_tolerates_is_refused(driver, clock):
    with pytest.raises(ConfigurationError, match="client liveness timeout of 5 s"):
        Aeron(driver.folder, clock=clock, keepalive_interval=5.0)


@pytest.mark.parametrize(
    ("channel", "stream_id", "text"),
    [
        ("aeron:ipc", "1", "stream_id is an integer, not '1'"),
        ("aeron:ipc", 1.5, "stream_id is an integer, not 1.5"),
        ("aeron:ipc", True, "stream_id is an integer, not True"),
        (7, 1, "channel is text or a ChannelUri, not 7"),
        (None, 1, "channel is text or a ChannelUri, not None"),
        (b"aeron:ipc", 1, "channel is text or a ChannelUri, not b'aeron:ipc'"),
    ],
)
def test_an_argument_of_another_type_is_named(aeron, channel, stream_id, text):
    for add in (aeron.add_publication, aeron.add_exclusive_publication, aeron.add_subscription):
        with pytest.raises(TypeError, match=re.escape(text)):
            add(channel, stream_id)


def test_a_class_name_of_the_reference_does_not_stand_before_a_refusal():
    text = "java.lang.IllegalStateException : ERROR - difference greater than 2^31 - 1"
    error = RegistrationError(1, 11, text)
    assert str(error) == "difference greater than 2^31 - 1, errorCodeValue=11"
    assert error.message == text
    assert str(RegistrationError(1, 4, "no such a.B : c")) == "no such a.B : c, errorCodeValue=4"
