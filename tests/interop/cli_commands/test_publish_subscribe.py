"""``aerolog publish`` and ``subscribe`` as processes, on our driver and on the reference's."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.error_log("Term length less than min length")]


def test_lines_arrive_as_text_in_order(aerolog: Any, any_driver: Any, stream_id: int) -> None:
    lines = "".join(f"line {number} \u00e4\n" for number in range(1000))
    subscriber = aerolog("subscribe", "aeron:ipc", stream_id, "--count", 1000, on=any_driver)

    publisher = aerolog("publish", "aeron:ipc", stream_id, stdin=lines.encode(), on=any_driver)

    assert subscriber.succeed() == lines
    assert "published 1000 messages" in publisher.succeed()


def test_json_has_the_columns_of_an_export(aerolog: Any, our_driver: Any, stream_id: int) -> None:
    subscriber = aerolog(
        "subscribe", "aeron:ipc", stream_id, "--count", 3, "--format", "json", on=our_driver
    )

    publisher = aerolog(
        "publish", "aeron:ipc", stream_id, "--json", stdin=b"one\n\n\xff", on=our_driver
    )

    rows = subscriber.json_lines()
    summary = publisher.json()
    assert [
        (row["position"], row["term_offset"], row["payload"], row["payload_encoding"])
        for row in rows
    ] == [(64, 0, "one", "utf-8"), (96, 64, "", "utf-8"), (160, 96, "/w==", "base64")]
    for row in rows:
        assert row["stream_id"] == stream_id
        assert row["session_id"] == summary["session_id"]
        assert (row["flags"], row["reserved_value"]) == (0xC0, 0)
        assert set(row) == {
            "position", "term_id", "term_offset", "session_id", "stream_id", "flags",
            "reserved_value", "payload", "payload_encoding",
        }  # fmt: skip
    assert (summary["messages"], summary["payload_bytes"], summary["position"]) == (3, 4, 160)


@pytest.mark.parametrize("form", ["hex", "raw"])
def test_records_of_a_file_arrive_as_hex_and_raw(
    aerolog: Any, our_driver: Any, stream_id: int, tmp_path: Path, form: str
) -> None:
    expected = {"hex": b"6162\n00ff\n", "raw": b"ab\x00\xff"}[form]
    file = tmp_path / "records"
    file.write_bytes(b"ab\x00\xff")
    subscriber = aerolog(
        "subscribe", "aeron:ipc", stream_id, "--count", 2, "--format", form, on=our_driver
    )

    aerolog(
        "publish", "aeron:ipc", stream_id, "--file", file, "--frame-size", 2, on=our_driver
    ).succeed()

    assert subscriber.wait() == 0
    assert subscriber.stdout == expected


def test_generated_messages_are_numbered_and_of_one_size(
    aerolog: Any, any_driver: Any, stream_id: int
) -> None:
    subscriber = aerolog("subscribe", "aeron:ipc", stream_id, "--count", 2000, on=any_driver)

    publisher = aerolog(
        "publish", "aeron:ipc", stream_id, "--count", 2000, "--size", 3000, "--json",
        on=any_driver,
    )  # fmt: skip

    assert subscriber.succeed().splitlines() == [f"{number:03000}" for number in range(2000)]
    assert publisher.json()["payload_bytes"] == 2000 * 3000


def test_a_rate_is_kept(aerolog: Any, our_driver: Any, stream_id: int) -> None:
    subscriber = aerolog("subscribe", "aeron:ipc", stream_id, "--count", 50, on=our_driver)

    summary = aerolog(
        "publish", "aeron:ipc", stream_id, "--count", 50, "--rate", 100, "--json", on=our_driver
    ).json()

    subscriber.succeed()
    # 50 messages at 100 a second: the last one is due 0.49 s after the first.
    assert summary["seconds"] >= 0.45


def test_messages_go_out_while_the_input_is_still_open(
    aerolog: Any, our_driver: Any, stream_id: int
) -> None:
    subscriber = aerolog("subscribe", "aeron:ipc", stream_id, "--count", 2, on=our_driver)
    publisher = aerolog("publish", "aeron:ipc", stream_id, on=our_driver)

    publisher.type(b"first\nsec")

    assert subscriber.next_line() == "first"
    publisher.type(b"ond\n")
    assert subscriber.next_line() == "second"
    subscriber.succeed()


def test_a_subscriber_ends_with_the_publisher_when_told_to(
    aerolog: Any, any_driver: Any, stream_id: int
) -> None:
    subscriber = aerolog("subscribe", "aeron:ipc", stream_id, "--until-end", on=any_driver)

    aerolog("publish", "aeron:ipc", stream_id, stdin=b"a\nb\n", on=any_driver).succeed()

    assert subscriber.succeed() == "a\nb\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_subscriber_can_be_interrupted(
    aerolog: Any, our_driver: Any, stream_id: int, number: signal.Signals, code: int
) -> None:
    subscriber = aerolog("subscribe", "aeron:ipc", stream_id, on=our_driver)
    aerolog("publish", "aeron:ipc", stream_id, stdin=b"a\n", on=our_driver).succeed()
    assert subscriber.next_line() == "a"

    subscriber.signal(number)

    assert subscriber.wait() == code
    assert subscriber.stderr == b""


def test_a_publisher_can_be_interrupted(aerolog: Any, our_driver: Any, stream_id: int) -> None:
    subscriber = aerolog("subscribe", "aeron:ipc", stream_id, on=our_driver)
    publisher = aerolog(
        "publish", "aeron:ipc", stream_id, "--size", 64, "--rate", 1000, on=our_driver
    )
    assert subscriber.next_line() == "0" * 64

    publisher.signal(signal.SIGINT)

    assert publisher.wait() == 130
    assert publisher.stderr == b""
    subscriber.signal(signal.SIGINT)
    assert subscriber.wait() == 130


def test_a_reader_that_goes_away_ends_a_subscriber_quietly(
    aerolog: Any, our_driver: Any, stream_id: int
) -> None:
    subscriber = subprocess.Popen(
        [sys.executable, "-m", "aerolog.tools.main", "subscribe", "aeron:ipc", str(stream_id),
         "--aeron-dir", our_driver.aeron_dir],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    publisher = aerolog(
        "publish", "aeron:ipc", stream_id, "--count", 100000, "--size", 64, on=our_driver
    )
    assert subscriber.stdout is not None
    assert subscriber.stderr is not None
    with subscriber:
        assert subscriber.stdout.readline() == b"0" * 64 + b"\n"

        subscriber.stdout.close()

        assert subscriber.wait(30) == 0
        assert subscriber.stderr.read() == b""
    publisher.signal(signal.SIGINT)
    assert publisher.wait() in {0, 1, 130}


def test_without_a_subscriber_a_publisher_gives_up(
    aerolog: Any, our_driver: Any, stream_id: int
) -> None:
    publisher = aerolog(
        "publish", "aeron:ipc", stream_id, "--count", 1, "--wait", 0.2, on=our_driver
    )

    assert publisher.wait() == 1
    assert b"no subscriber" in publisher.stderr
    assert publisher.stdout == b""


def test_a_message_too_long_is_named(aerolog: Any, our_driver: Any, stream_id: int) -> None:
    channel = "aeron:ipc?term-length=64k"
    subscriber = aerolog("subscribe", channel, stream_id, "--count", 1, on=our_driver)

    publisher = aerolog(
        "publish", channel, stream_id, stdin=b"short\n" + b"x" * 9000 + b"\n", on=our_driver
    )

    assert publisher.wait() == 1
    assert b"message 1 has 9000 bytes, the publication carries 8192" in publisher.stderr
    subscriber.signal(signal.SIGINT)
    assert subscriber.wait() in {0, 130}


def test_input_that_ends_within_a_record_is_an_error_after_the_whole_ones(
    aerolog: Any, our_driver: Any, stream_id: int
) -> None:
    subscriber = aerolog("subscribe", "aeron:ipc", stream_id, "--count", 2, on=our_driver)

    publisher = aerolog(
        "publish", "aeron:ipc", stream_id, "--frame-size", 3, stdin=b"abcdefgh", on=our_driver
    )

    assert publisher.wait() == 1
    assert b"ends with 2 bytes, less than a record of 3" in publisher.stderr
    assert subscriber.succeed() == "abc\ndef\n"


def test_what_a_driver_refuses_is_an_error(aerolog: Any, any_driver: Any, stream_id: int) -> None:
    refused = aerolog("publish", "aeron:ipc?term-length=32k", stream_id, on=any_driver, stdin=b"")

    assert refused.wait() == 1
    assert b"Term length less than min length of 65536: length=32768" in refused.stderr
    assert b"Traceback" not in refused.stderr


def test_java_hears_what_the_command_publishes(
    aerolog: Any, java_driver: Any, java_client: Any, stream_id: int
) -> None:
    subscription = java_client(java_driver.aeron_dir).add_subscription("aeron:ipc", stream_id)

    aerolog("publish", "aeron:ipc", stream_id, stdin=b"from\nhere\n", on=java_driver).succeed()

    assert [bytes(message["data"]) for message in subscription.poll(2)] == [b"from", b"here"]


def test_the_command_hears_what_java_publishes(
    aerolog: Any, any_driver: Any, java_client: Any, stream_id: int
) -> None:
    subscriber = aerolog("subscribe", "aeron:ipc", stream_id, "--count", 2, "--json", on=any_driver)
    publication = java_client(any_driver.aeron_dir).add_publication("aeron:ipc", stream_id)

    publication.offer(b"from java", b"again", reserved_value=77)

    rows = [json.loads(subscriber.next_line()) for _ in range(2)]
    assert [(row["payload"], row["reserved_value"]) for row in rows] == [
        ("from java", 77),
        ("again", 77),
    ]
    subscriber.succeed()
