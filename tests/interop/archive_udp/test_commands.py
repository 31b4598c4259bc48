"""The command line on archives over UDP, from a driver elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet
from waits import wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.interop
LINES = [f"message {number} " + "x" * (number * 5) for number in range(300)]
TEXT = "".join(line + "\n" for line in LINES)
TIMEOUT_S = 60.0


# Archive, its driver, the driver of the commands.
SITES = [
    ("ours", "ours", "reference"),
    ("reference", "reference", "ours"),
    ("ours", "ours", "ours"),
]


@pytest.fixture(params=SITES, ids=["-".join(site) for site in SITES])
def site(request: pytest.FixtureRequest, sites: Any) -> Any:
    """Fewer than elsewhere: a command takes longer to start than all it does."""
    return sites.get(*request.param)


class Commands:
    """Runs ``aerolog`` with a site's channels in the environment."""

    def __init__(self, site: Any, response_channel: str) -> None:
        self._environ = {
            **{k: v for k, v in os.environ.items() if not k.startswith("AERON_")},
            "AERON_DIR": site.elsewhere.aeron_dir,
            "AERON_ARCHIVE_CONTROL_CHANNEL": site.control,
            "AERON_ARCHIVE_CONTROL_RESPONSE_CHANNEL": response_channel,
        }
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """A command that runs."""
        self.started.append(
            subprocess.Popen(
                [sys.executable, "-m", "aerolog.tools.main", *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={k: v for k, v in self._environ.items() if v},
                text=True,
            )
        )
        return self.started[-1]

    def output(self, command: subprocess.Popen[str], stdin: str = "") -> str:
        """Standard output of a command that ends well."""
        out, err = command.communicate(stdin, timeout=TIMEOUT_S)
        assert command.returncode == 0, err
        return out

    def run(self, *arguments: object, stdin: str = "") -> str:
        """As ``output`` of a command started now."""
        return self.output(self.start(*arguments), stdin)


@pytest.fixture(params=["endpoint", "response-channel"])
def responses(request: pytest.FixtureRequest, site: Any, address: Any) -> str:
    """Where the archive answers."""
    if request.param == "endpoint":
        return site.responses
    return f"aeron:udp?control-mode=response|control={address()}"


@pytest.fixture
def commands(site: Any, responses: str) -> Any:
    """See ``Commands``; what still runs at the end is killed."""
    made = Commands(site, responses)
    yield made
    for command in made.started:
        if command.poll() is None:
            command.kill()
            command.communicate()


def test_a_stream_from_elsewhere_is_recorded_listed_replayed_and_exported(
    commands: Any, channel: str, stream_id: int, tmp_path: Path
) -> None:
    recorder = commands.start("record", channel, stream_id, "--remote", "--messages", len(LINES))
    commands.run("publish", channel, stream_id, stdin=TEXT)
    recording_id = int(commands.output(recorder))
    assert commands.run("replay", recording_id) == TEXT
    (row,) = json.loads(commands.run("recordings", "list", "--stream", stream_id, "--json"))
    assert (row["recording_id"], row["original_channel"]) == (recording_id, channel)
    assert not row["active"]
    commands.run("export", recording_id, "--to", tmp_path / "out")
    (file,) = (tmp_path / "out").rglob("*.parquet")
    payloads = parquet.read_table(file)["payload"].to_pylist()
    assert [payload.decode() for payload in payloads] == LINES


def test_a_recording_is_replayed_to_a_subscriber(
    commands: Any, site: Any, channel: str, address: Any, stream_id: int
) -> None:
    recorder = commands.start("record", channel, stream_id, "--remote", "--messages", len(LINES))
    commands.run("publish", channel, stream_id, stdin=TEXT)
    recording_id = int(commands.output(recorder))
    target = f"aeron:udp?endpoint={address()}"
    subscriber = commands.start("subscribe", target, 5, "--count", len(LINES))
    wait_until(lambda: site.listens_elsewhere(target), "the subscriber", TIMEOUT_S)
    with ThreadPoolExecutor(1) as reading:  # a full pipe would stop the subscriber, and the replay
        received = reading.submit(commands.output, subscriber)
        commands.run("replay", recording_id, "--channel", target, "--stream", 5)
        assert received.result() == TEXT


def test_requests_over_udp_without_a_response_channel_say_what_is_missing(site: Any) -> None:
    commands = Commands(site, "")
    command = commands.start("recordings", "list")
    _, err = command.communicate(timeout=TIMEOUT_S)
    assert command.returncode == 1
    assert "need a response_channel" in err
