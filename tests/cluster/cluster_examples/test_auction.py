"""The auction: its service alone, and the demonstration with a node that is killed."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aerolog.cluster.client import NumberedMessage

HEADER_LENGTH = 16
SENDERS = {"ann": 1, "bob": 2}
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class of the service."""
    monkeypatch.syspath_prepend(str(ROOT))
    service: Any = importlib.import_module("examples.auction.service")
    return service.AuctionHouse


class Session:
    """Keeps what the service sends, answers without their header."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send(self, data: bytes) -> int:
        self.sent.append(json.loads(data if data.startswith(b"{") else data[HEADER_LENGTH:]))
        return 1


def numbered(sender: int, number: int, content: bytes) -> memoryview:
    return memoryview(NumberedMessage(sender, number, content).encode())


def bid(house: Any, number: int, **values: Any) -> dict[str, Any]:
    session = Session()
    content = json.dumps(values).encode()
    house.on_session_message(session, 7, numbered(SENDERS[values["bidder"]], number, content))
    (answer,) = session.sent
    return answer


def test_the_highest_bid_leads(made: Any) -> None:
    house = made()
    first = bid(house, bidder="ann", number=1, lot="vase", price=10)
    assert first == {
        "lot": "vase", "price": 10, "bidder": "ann", "bids": 1, "time": 7
    }  # fmt: skip
    assert bid(house, bidder="bob", number=1, lot="vase", price=9)["bidder"] == "ann"
    assert bid(house, bidder="bob", number=2, lot="vase", price=11)["bidder"] == "bob"


def test_a_bid_that_was_seen_changes_nothing(made: Any) -> None:
    house = made()
    for _ in range(3):
        answer = bid(house, bidder="ann", number=1, lot="vase", price=10)
        assert (answer["bids"], answer["price"]) == (1, 10)


def test_a_snapshot_keeps_everything(made: Any) -> None:
    house, other = made(), made()
    bid(house, bidder="ann", number=1, lot="vase", price=10)
    other.restore(json.loads(json.dumps(house.state())))
    assert bid(other, bidder="ann", number=1, lot="vase", price=99)["price"] == 10


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b"[1]", b'{"bidder": 1}'])
@pytest.mark.parametrize("is_numbered", [True, False])
def test_what_is_no_bid_is_answered(made: Any, data: bytes, is_numbered: bool) -> None:
    session = Session()
    content = numbered(1, 1, data) if is_numbered else memoryview(data)
    made().on_session_message(session, 7, content)
    assert session.sent[0]["error"].startswith("no bid: ")


def test_a_question_counts_for_no_bid(made: Any) -> None:
    house = made()
    bid(house, bidder="ann", number=1, lot="vase", price=10)
    session = Session()
    house.on_session_message(session, 8, numbered(3, 1, b'{"lot": "vase"}'))
    assert session.sent == [{"lot": "vase", "price": 10, "bidder": "ann", "bids": 1, "time": 7}]


def test_no_bid_is_lost_when_the_node_is_killed(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "examples.auction",
            "--out",
            str(tmp_path / "out"),
            "--bids",
            "2000",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "kill -9 while they go on bidding" in done.stdout
    assert done.stdout.count("as counted here") == 4
    assert done.stdout.endswith("no bid was lost, and none counts twice\n")


INTERRUPTED = """
import signal, sys
from examples.auction import __main__ as demo, bidder
begin, begun = bidder.Bidder.begin, []
def interrupted(self, bids):
    begun.append(self)
    if len(begun) == int(sys.argv[1]):
        signal.raise_signal(signal.SIGINT)
    begin(self, bids)
bidder.Bidder.begin = interrupted
sys.exit(demo.main(["--out", sys.argv[2], "--bids", "20000"]))
"""


@pytest.mark.parametrize("number", [1, 3])
def test_an_interrupt_before_a_bidder_s_thread_has_started_ends_all(
    tmp_path: Path, number: int
) -> None:
    """Others may be bidding by then: they give up, so that the program ends."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(number), str(tmp_path / "out")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
