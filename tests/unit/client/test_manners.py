"""What a client does when its program interrupts, forgets or calls it at the wrong time."""

import logging
import pickle
import subprocess
import sys
import textwrap
import time

import pytest
from late_threads import begin_when_joined

from aerolog.transport.client import Action, Aeron, OfferStatus
from aerolog.transport.driver.media_driver import MediaDriver
from aerolog.transport.errors import ReentrantCallError, RegistrationError
from aerolog.transport.protocol import commands, responses


def image_of(driver, aeron, **handlers):
    """A publication of ours and a subscription that has its image."""
    publication = aeron.add_publication("aeron:ipc", 1)
    subscription = aeron.add_subscription("aeron:ipc", 1, **handlers)
    driver.available_image(subscription, publication.registration_id)
    aeron.do_work()
    return publication, subscription


def test_an_interrupted_add_is_taken_back(driver, clock, connect):
    aeron = connect()
    driver.silent = True
    turns = []

    def interrupt():
        turns.append(1)
        driver.turn()
        if len(turns) == 3:
            raise KeyboardInterrupt

    aeron.options.driver_invoker = interrupt
    with pytest.raises(KeyboardInterrupt):
        aeron.add_subscription("aeron:ipc", 1)
    number = driver.asked(commands.AddSubscription)[0].correlation_id
    driver.send(responses.SubscriptionReady(number, -1))
    aeron.do_work()
    driver.turn()
    assert [c.registration_id for c in driver.asked(commands.RemoveSubscription)] == [number]


def test_a_client_whose_start_is_interrupted_leaves_no_thread(tmp_path, monkeypatch):
    with MediaDriver(tmp_path / "aeron", threading_mode="INVOKER", counters_buffer_length="1m"):
        started = begin_when_joined(monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            Aeron(tmp_path / "aeron")
    (thread,) = started
    assert (thread.name, thread.is_alive()) == ("aeron-client", False)


def test_a_handler_may_close_what_it_is_polled_from(driver, aeron):
    publication, subscription = image_of(driver, aeron)
    publication.offer_many([b"one", b"two", b"three"])
    seen = []
    (image,) = subscription.images

    def handler(data, header):
        seen.append((bytes(data), header.position))
        subscription.close()

    assert subscription.poll(handler) == 1
    assert seen == [(b"one", image.position)]
    assert subscription.poll(handler) == 0
    assert driver.counters.counter_value(driver.images[publication.registration_id]) == 0


def test_an_image_knows_where_the_message_in_assembly_begins(driver, aeron):
    publication, subscription = image_of(driver, aeron)
    publication.offer(b"short")
    begin = publication.position
    publication.offer(bytes(8_000))  # six fragments
    end = publication.position
    (image,) = subscription.images
    taken = [image.message_position]
    while subscription.poll(lambda *_: None, 1):
        taken.append(image.message_position)
    assert taken == [0, *[begin] * 6, end]


@pytest.mark.parametrize("way", ["poll", "poll_controlled", "poll_messages", "poll_array"])
def test_an_image_tells_padding_from_the_messages_before_it(driver, aeron, way):
    publication, subscription = image_of(driver, aeron)
    publication.offer(b"four")
    publication.offer(b"more")
    end = publication.position
    publication.try_claim(100).abort()
    (image,) = subscription.images
    arguments = {"poll_messages": (), "poll_array": ("S4",)}.get(way, (lambda *_: None,))
    getattr(image, way)(*arguments)
    assert image.delivered_position == end
    getattr(image, way)(*arguments)
    assert (image.delivered_position, image.message_position) == (end, publication.position)
    publication.offer(b"last")
    getattr(image, way)(*arguments)
    assert image.delivered_position == image.position == publication.position


def test_a_message_that_comes_again_was_not_delivered(driver, aeron):
    publication, subscription = image_of(driver, aeron)
    publication.offer(b"one")
    end = publication.position
    publication.offer(b"two")
    (image,) = subscription.images
    image.poll_controlled(lambda data, _: Action.ABORT if bytes(data) == b"two" else None)
    assert image.delivered_position == end


def test_a_controlled_handler_may_close_it_too(driver, aeron):
    publication, subscription = image_of(driver, aeron)
    publication.offer_many([b"one", b"two"])
    seen = []

    def handler(data, _):
        seen.append(bytes(data))
        subscription.close()
        return Action.COMMIT

    assert subscription.poll_controlled(handler) == 1
    assert seen == [b"one"]


def test_a_handler_may_not_poll_what_polls_it(driver, aeron):
    publication, subscription = image_of(driver, aeron)
    publication.offer(b"x")
    raised = []

    def handler(*_):
        with pytest.raises(RuntimeError, match="the handler that polls it") as caught:
            subscription.poll(handler)
        raised.append(caught.value)

    assert subscription.poll(handler) == 1
    assert len(raised) == 1


def test_resources_may_not_be_closed_by_handlers_of_the_client(driver, aeron, errors):
    publication, subscription = image_of(
        driver, aeron, on_image=lambda image: image.subscription.close()
    )
    assert [type(error) for error in errors] == [ReentrantCallError]
    assert not subscription.closed
    subscription.close()
    assert publication.offer(b"fine") > 0


def test_an_error_handler_may_close_the_client_that_is_ending(driver, connect):
    seen = []
    aeron = connect(on_error=lambda error: (seen.append(error), aeron.close()))
    driver.send(responses.ClientTimeout(aeron.client_id))
    aeron.do_work()
    assert aeron.closed
    assert seen == [aeron.close_reason]


def test_errors_without_handler_are_logged(driver, connect, caplog):
    aeron = connect(on_error=None)
    with caplog.at_level(logging.ERROR, "aerolog.client"):
        driver.transmitter.send(responses.AvailableImage.TYPE_ID, b"short")
        aeron.do_work()
    assert "AvailableImage" in caplog.text
    assert caplog.records[0].exc_info is not None


def test_what_a_failing_error_handler_raises_is_logged(driver, connect, caplog):
    def fail(_):
        raise KeyError("in the error handler")

    aeron = connect(on_error=fail)
    with caplog.at_level(logging.ERROR, "aerolog.client"):
        driver.transmitter.send(responses.AvailableImage.TYPE_ID, b"short")
        aeron.do_work()
    assert "the error handler failed" in caplog.text
    assert not aeron.closed


def test_refused_removals_do_not_disturb_anybody(driver, aeron, errors):
    driver.answers[commands.RemovePublication] = lambda c: [
        responses.OnError(c.correlation_id, 3, "unknown publication")
    ]
    aeron.add_publication("aeron:ipc", 1).close()
    driver.turn()
    aeron.do_work()
    assert errors == []
    assert not aeron.has_active_commands()


def test_live_objects_cannot_be_pickled(driver, aeron):
    publication, subscription = image_of(driver, aeron)
    for thing in (aeron, publication, subscription, subscription.images[0]):
        with pytest.raises(TypeError, match="belongs to this process"):
            pickle.dumps(thing)


def test_things_say_what_they_are(driver, aeron):
    publication, subscription = image_of(driver, aeron)
    assert "aeron:ipc stream_id=1 session_id=1000" in repr(publication)
    assert repr(subscription) == "<Subscription aeron:ipc stream_id=1 images=1>"
    assert "source=aeron:ipc" in repr(subscription.images[0])
    publication.close()
    assert repr(publication).endswith(" closed>")
    assert OfferStatus.name_of(5) == "NONE"
    assert OfferStatus.name_of(-2) == "BACK_PRESSURED"
    assert OfferStatus.name_of(-17) == "UNKNOWN"


def test_a_refused_command_keeps_code_and_correlation(driver, aeron):
    driver.answers[commands.AddPublication] = lambda c: [
        responses.OnError(c.correlation_id, 4711, "of a later driver")
    ]
    with pytest.raises(RegistrationError) as caught:
        aeron.add_publication("aeron:ipc", 1)
    assert caught.value.code.name == "UNKNOWN_CODE_VALUE"
    assert caught.value.code_value == 4711
    asked = driver.asked(commands.AddPublication)
    assert caught.value.correlation_id == asked[0].correlation_id


def test_a_program_that_forgets_to_close_still_says_good_bye(driver):
    program = textwrap.dedent("""
        import sys
        from aerolog.transport.client import Aeron
        client = Aeron(sys.argv[1])
        print(client.client_id)
    """)
    driver.cnc.to_driver.consumer_heartbeat_ms = int(time.time() * 1000)
    command = [sys.executable, "-W", "error", "-c", program, str(driver.folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    driver.turn()
    assert driver.asked(commands.ClientClose)[0].client_id == int(done.stdout)


def test_a_client_is_the_same_by_connect(driver, clock):
    with Aeron.connect(driver.folder, invoker=True, clock=clock) as aeron:
        assert repr(aeron) == f"<Aeron {driver.folder} client_id={aeron.client_id}>"
