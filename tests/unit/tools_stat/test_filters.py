"""Filters are asked where they apply, and find anywhere in a text."""

import pytest

from aerolog.tools.stat.counter_filters import Filters
from aerolog.tools.views.driver_view import DriverView
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.errors import ConfigurationError

from .made_up import UDP, MadeUpDriver


@pytest.fixture
def labels(driver: MadeUpDriver):
    driver.ipc(position=1, limit=2, readers={3: 1})
    driver.sent(position=1, limit=2, sent=1, allowed=2)
    channel = UDP.encode()
    key = len(channel).to_bytes(4, "little") + channel
    driver.counters.allocate(CounterType.SEND_CHANNEL_STATUS, f"snd-channel: {UDP} ", key, 20)
    driver.counters.allocate(1000, "app: 5", b"", 5)

    def matching(**patterns: str) -> set[str]:
        snapshot = DriverView.open(driver.folder).counters()
        rows = Filters.of(patterns).rows(snapshot)
        return {snapshot.label(row).partition(":")[0] for row in rows}

    return matching


SYSTEM = {"Bytes sent", "Bytes received"}
STREAM = {"pub-pos (concurrent)", "pub-lmt", "sub-pos", "pub-pos (exclusive)", "snd-pos", "snd-lmt"}
#: Asked for their type alone, as the reference does.
OTHERS = {"snd-bpe", "snd-naks-received", "app"}


def test_no_filter_passes_all(labels) -> None:
    assert labels() == SYSTEM | STREAM | OTHERS | {"snd-channel"}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ({"type": "^0$"}, SYSTEM),
        ({"type": "1"}, {"pub-pos (concurrent)", "pub-lmt", "pub-pos (exclusive)", *OTHERS}),
        ({"identity": "^1$", "type": "^0$"}, {"Bytes received"}),
        ({"identity": "^20$", "type": "^2$"}, {"snd-pos"}),
        ({"session": "^8$"}, SYSTEM | OTHERS | {"snd-channel"}),
        ({"stream": "100", "type": "^4$"}, {"sub-pos"}),
        ({"stream": "^100$", "type": "^4$"}, set()),
        ({"channel": "ipc"}, SYSTEM | OTHERS | {"pub-pos (concurrent)", "pub-lmt", "sub-pos"}),
        ({"channel": "20121", "type": "^6$"}, {"snd-channel"}),
        ({"channel": "ipc", "type": "^6$"}, set()),
    ],
)
def test_all_filters_that_apply_must_match(labels, patterns, expected) -> None:
    assert labels(**patterns) == expected


def test_a_pattern_that_does_not_compile_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"channel: '\[' is no regular expression"):
        Filters.of({"channel": "["})
