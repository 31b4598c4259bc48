"""The harness itself: the reference talks to itself through it."""

import time
import tomllib
from pathlib import Path

import peer
import pytest
from peer import c_build, lifetimes
from peer.client import numbered_message

from aerolog.transport.errors import DriverTimeoutError

pytestmark = pytest.mark.interop


def test_reference_clients_exchange_messages_over_ipc(java_driver, java_client, stream_id):
    client = java_client(java_driver.aeron_dir)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication = client.add_publication("aeron:ipc", stream_id)
    positions = publication.offer(b"hello", b"x" * 5000, reserved_value=7)
    messages = subscription.poll(2)
    assert [m["data"] for m in messages] == [b"hello", b"x" * 5000]
    assert [m["position"] for m in messages] == positions
    assert messages[0]["reservedValue"] == 7


def test_numbered_messages_are_the_same_on_both_sides(java_driver, java_client, stream_id):
    client = java_client(java_driver.aeron_dir)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    publication = client.add_exclusive_publication("aeron:ipc", stream_id)
    publication.offer(*(numbered_message(i, 40) for i in range(5)))
    assert subscription.poll_numbered(5, 40)["first_wrong"] is None
    publication.offer(numbered_message(9, 40))
    assert subscription.poll_numbered(1, 40, first=5)["first_wrong"] == 0


def test_reference_archive_records_and_lists(java_archive, java_client, stream_id):
    client = java_client(java_archive.aeron_dir)
    archive = client.archive()
    publication = client.add_publication("aeron:ipc", stream_id)
    archive.startRecording("aeron:ipc", stream_id, "LOCAL")
    end = publication.offer_numbered(100, 64)["position"]
    deadline = time.monotonic() + 30
    while not (found := archive.recordings(channel="aeron:ipc", stream=stream_id)):
        assert time.monotonic() < deadline, "no recording"
    (recording,) = found
    assert recording["startPosition"] == 0
    recording_id = recording["recordingId"]
    replay = archive.replay(recording_id, 0, end, "aeron:ipc", stream_id + 5000)
    assert replay.poll_numbered(100, 64) == {"count": 100, "position": end, "first_wrong": None}
    archive.stopRecording("aeron:ipc", stream_id)
    while (stopped := archive.getStopPosition(recording_id)) == -1:
        assert time.monotonic() < deadline, "the recording does not stop"
    assert stopped == end
    assert [s["signal"] for s in archive.signals() if "signal" in s][:1] == ["START"]


def test_errors_of_the_reference_come_with_class_and_code(java_archive, java_client):
    archive = java_client(java_archive.aeron_dir).archive()
    with pytest.raises(peer.JavaError, match="unknown recording") as caught:
        archive.getStopPosition(4711)
    assert caught.value.java_class == "ArchiveException"
    assert caught.value.code == 5


def test_tools_of_the_reference_run(java_driver, java_archive):
    assert "Bytes sent" in peer.aeron_stat(java_driver.aeron_dir)
    assert "[MarkFileHeader]" in peer.archive_tool(java_archive.archive_dir, "describe")


def test_what_the_c_peer_s_build_lacks_is_told_before_it_begins(monkeypatch):
    monkeypatch.setattr(c_build, "run", lambda *_args: "fish\nlibbsd-dev\ncargo-web\n")
    with pytest.raises(peer.PeerUnavailable, match="install libbsd-dev, cargo-web$"):
        c_build.check_packages()


def test_packages_of_other_tests_are_nothing_to_the_c_peer(monkeypatch):
    monkeypatch.setattr(c_build, "run", lambda *_args: "fish\ntshark\n")
    c_build.check_packages()


@pytest.mark.parametrize("version", c_build.CRATES)
def test_the_c_peer_of_each_version_has_a_lock_file_of_its_own(version):
    found = c_build.sources(version)
    crates = {
        crate["name"]: crate
        for crate in tomllib.loads(found[Path("Cargo.lock")].decode())["package"]
    }
    for name in c_build.CARRIERS:
        assert crates[name]["version"] == c_build.CRATES[version]
        assert len(crates[name]["checksum"]) == 64
        assert f'{name} = "={c_build.CRATES[version]}"' in found[Path("Cargo.toml")].decode()


def test_nothing_of_the_c_peer_of_other_versions_is_in_the_standard_s_build():
    found = c_build.sources(c_build.STANDARD)
    assert found == {path: (c_build.SOURCES / path).read_bytes() for path in found}
    assert not [path for path in found if path.suffix == ".lock" and path.name != "Cargo.lock"]


def test_a_fetch_of_the_sbe_tool_that_fails_is_a_failure_in_ci(monkeypatch, tmp_path):
    def refuse(artifact):
        raise peer.PeerUnavailable(f"fetching {artifact} with Maven failed")

    monkeypatch.setattr(c_build, "fetch", refuse)
    monkeypatch.setattr(c_build, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(c_build, "outcome", c_build.outcome.__wrapped__)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="fetching .*sbe-tool.* with Maven failed"):
        lifetimes.c_reference(c_build.STANDARD)


def test_the_c_driver_in_invoker_mode_is_turned_by_its_main_thread(
    start_server, our_client, stream_id
):
    server = start_server("c", "driver", properties={"aeron.threading.mode": "INVOKER"})
    client = our_client(server.aeron_dir)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    with client.add_publication("aeron:ipc", stream_id) as publication:
        publication.wait_connected(30)
        publication.send(b"turned")
    received = []
    while not received:
        subscription.poll(lambda message, _: received.append(bytes(message)), 1)
    assert received == [b"turned"]


def test_the_reference_s_driver_in_invoker_mode_is_turned_by_nobody(start_server, our_client):
    server = start_server("reference", "driver", properties={"aeron.threading.mode": "INVOKER"})
    with pytest.raises(DriverTimeoutError):
        our_client(server.aeron_dir, driver_timeout=1.0).add_subscription("aeron:ipc", 1)
