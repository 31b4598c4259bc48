"""What a driver logs of what its clients do, and that it does nothing when nothing is logged."""

import threading
import time

import pytest

from aerolog.transport.driver.events.driver_events import NO_EVENTS
from aerolog.transport.driver.events.logged_port import LoggedPort
from aerolog.transport.errors import ConfigurationError, RegistrationError


def test_commands_and_answers_are_logged_in_order(logged):
    log = logged(event_log="admin")
    publication = log.aeron.add_publication("aeron:ipc", 7)
    registration_id = publication.registration_id
    publication.close()
    log.wait("REMOVE_PUBLICATION_CLEANUP")
    log.close()

    names = [name for name, text in log.lines() if "7" in text or "Id=" in text]
    assert names[:3] == [
        "CMD_IN_ADD_PUBLICATION",
        "CMD_OUT_COUNTER_READY",
        "CMD_OUT_PUBLICATION_READY",
    ]
    assert names.index("CMD_IN_REMOVE_PUBLICATION") < names.index("CMD_OUT_ON_OPERATION_SUCCESS")
    assert log.of("CMD_IN_ADD_PUBLICATION")[0].endswith("channel=aeron:ipc")
    assert log.of("CMD_IN_REMOVE_PUBLICATION")[0].startswith(f"registrationId={registration_id} ")
    assert log.of("FRAME_OUT") == []


def test_frames_go_out_and_come_in(logged, endpoint):
    log = logged(event_log="FRAME_IN,FRAME_OUT")
    channel = f"aeron:udp?endpoint={endpoint}"
    subscription = log.aeron.add_subscription(channel, 7)
    publication = log.aeron.add_publication(channel, 7)
    publication.wait_connected(30)
    publication.send(b"x" * 3000, timeout=30)

    setup = log.wait("FRAME_OUT", "type=SETUP")
    log.wait("FRAME_IN", "type=DATA flags=01000000")

    assert setup.startswith(f"address={endpoint} type=SETUP ")
    assert f"sessionId={publication.session_id} streamId=7 " in setup
    assert log.wait("FRAME_IN", "type=SM").startswith(f"address={endpoint} ")
    fragments = [text for text in log.of("FRAME_OUT") if "frameLength=1408" in text]
    assert [text.rpartition("=")[2] for text in fragments] == ["0", "1408"]
    assert {name for name, _ in log.lines()} == {"FRAME_IN", "FRAME_OUT"}
    subscription.close()


def test_loss_is_logged_from_the_request_to_what_is_sent_again(logged, endpoint):
    log = logged(event_log="NAK_SENT,NAK_RECEIVED,RESEND", rehearse_receive_data="rate=0.2|seed=5")
    channel = f"aeron:udp?endpoint={endpoint}"
    subscription = log.aeron.add_subscription(channel, 7)
    publication = log.aeron.add_exclusive_publication(channel, 7)
    publication.wait_connected(30)
    deadline = time.monotonic() + 30
    while not log.of("RESEND"):
        assert time.monotonic() < deadline, log.lines()
        publication.offer(b"y" * 1000)
        subscription.poll(lambda *_: None, 50)

    sent = log.wait("NAK_SENT")
    received = log.wait("NAK_RECEIVED")
    again = log.wait("RESEND")

    assert sent.endswith(f" channel={channel}")
    assert f"sessionId={publication.session_id} streamId=7 termId=" in sent
    assert received.startswith(f"address={endpoint} sessionId={publication.session_id} ")
    assert again.startswith(f"sessionId={publication.session_id} streamId=7 termId=")


def test_receivers_that_flow_control_knows_are_logged(logged, endpoint):
    log = logged(event_log="admin")
    publication = log.aeron.add_publication("aeron:udp?control-mode=manual|fc=min", 7)
    publication.add_destination(f"aeron:udp?endpoint={endpoint}")
    subscription = log.aeron.add_subscription(f"aeron:udp?endpoint={endpoint}", 7)
    publication.wait_connected(30)

    assert log.wait("FLOW_CONTROL_RECEIVER_ADDED").startswith("receiverCount=1 receiverId=")
    subscription.close()
    gone = log.wait("FLOW_CONTROL_RECEIVER_REMOVED")
    assert gone.endswith("channel=aeron:udp?control-mode=manual|fc=min")
    log.wait("REMOVE_IMAGE_CLEANUP")
    log.wait("RECEIVE_CHANNEL_CLOSE", f"remoteData: {endpoint}")


def test_untethered_subscribers_and_revoked_publications_are_logged(logged):
    log = logged(
        event_log="admin",
        untethered_window_limit_timeout=0.2,
        untethered_linger_timeout=0.2,
        untethered_resting_timeout=0.2,
    )
    publication = log.aeron.add_exclusive_publication("aeron:ipc", 7)
    slow = log.aeron.add_subscription("aeron:ipc?tether=false", 7)
    fast = log.aeron.add_subscription("aeron:ipc", 7)
    publication.wait_connected(30)
    deadline = time.monotonic() + 30
    for change in ("ACTIVE -> LINGER", "LINGER -> RESTING", "RESTING -> ACTIVE"):
        while not any(change in text for text in log.of("UNTETHERED_SUBSCRIPTION_STATE_CHANGE")):
            assert time.monotonic() < deadline, log.lines()
            publication.offer(b"z" * 1000)
            fast.poll(lambda *_: None, 100)
    session_id = publication.session_id
    publication.revoke()

    shown = log.wait("PUBLICATION_REVOKE")
    assert shown.endswith(f"sessionId={session_id} streamId=7 channel=aeron:ipc")
    assert (
        f"subscriptionId={slow.registration_id} streamId=7 sessionId={session_id} "
        in log.of("UNTETHERED_SUBSCRIPTION_STATE_CHANGE")[0]
    )


def test_refusals_and_lookups_are_logged(logged):
    log = logged(event_log="CMD_OUT_ERROR,NAME_RESOLUTION_LOOKUP,NAME_RESOLUTION_RESOLVE")
    with pytest.raises(RegistrationError):
        log.aeron.add_publication("aeron:udp?endpoint=no-such-host.invalid:4000", 7)

    assert "errorCode=INVALID_CHANNEL message=java.net.UnknownHostException" in log.wait(
        "CMD_OUT_ERROR"
    )
    assert "name=no-such-host.invalid:4000 isReLookup=false" in log.wait("NAME_RESOLUTION_LOOKUP")
    assert log.wait("NAME_RESOLUTION_RESOLVE").endswith("address=unknown-address")


def test_an_unknown_event_is_told_of_and_the_driver_starts(logged, capsys):
    log = logged(event_log="bogus,CMD_IN_CLIENT_CLOSE")
    log.aeron.close()

    log.wait("CMD_IN_CLIENT_CLOSE")
    assert capsys.readouterr().err == "unknown event code: bogus\n"


def test_without_the_property_there_is_nothing_to_pay_for(logged, endpoint):
    log = logged()
    log.aeron.add_publication(f"aeron:udp?endpoint={endpoint}", 7)

    assert log.driver.context.events is NO_EVENTS
    assert log.driver.context.events.stream(1, 2, "aeron:udp") is None
    network = log.driver.context.network
    port = network.open_receive_port(("127.0.0.1", 0))
    assert not isinstance(port, LoggedPort)
    port.close()
    assert [t for t in threading.enumerate() if t.name == "event-log-reader"] == []
    assert not log.path.exists()


def test_a_log_without_frames_leaves_the_ports_alone(logged):
    log = logged(event_log="CMD_IN_ADD_PUBLICATION,SEND_CHANNEL_CREATION")

    port = log.driver.context.network.open_receive_port(("127.0.0.1", 0))
    assert not isinstance(port, LoggedPort)
    port.close()


def test_a_buffer_that_is_no_power_of_two_is_refused_and_leaves_no_driver(logged, directory):
    with pytest.raises(ConfigurationError, match=r"aeron\.event\.buffer\.length=100000"):
        logged(event_log="admin", event_buffer_length=100_000)

    assert not (directory / "cnc.dat").exists()
    assert [t for t in threading.enumerate() if t.name == "event-log-reader"] == []
