"""Channels and messages drawn from a seed, over bad networks of our making."""

import os
import random

import pytest
from peer.channels import Row, check_rest, join
from peer.streams import Receipt, checked_messages, transfer

pytestmark = pytest.mark.interop
SEEDS = range(40) if os.environ.get("AEROLOG_LONG") else range(5)


def draw(source):
    """A row, and how many messages of which length."""
    kind = source.choice(["unicast", "multicast", "dynamic", "manual"])
    term_length, mtu = source.choice(
        [("64k", 1408), ("64k", 8192), ("64k", 288), ("256k", 16_384), ("1m", 65_504), ("1m", 9216)]
    )
    parts = [f"term-length={term_length}", f"mtu={mtu}"]
    if source.random() < 0.3:
        initial = source.randrange(-(2**31), 2**31)
        term = (initial + source.randrange(1 << 16) + 2**31) % 2**32 - 2**31
        offset = source.randrange(2048) * 32
        parts += [f"init-term-id={initial}", f"term-id={term}", f"term-offset={offset}"]
    if source.random() < 0.3:
        parts.append(f"max-resend={source.randrange(1, 257)}")
    if source.random() < 0.2:
        parts.append("sparse=false")
    if kind != "unicast":
        parts.append(
            f"fc={source.choice(['min', 'tagged,g:3'])}{'' if kind == 'multicast' else '/2'}"
        )
        parts[-1] = parts[-1].replace("min/2", "min,g:/2")
    theirs = ["gtag=3"]
    if source.random() < 0.3:
        theirs.append(f"nak-delay={source.choice(['0', '50us', '2ms'])}")
    if source.random() < 0.3:
        theirs.append("cc=cubic")
    if source.random() < 0.3:
        theirs.append(f"group={source.choice(['true', 'false', 'infer'])}")
    if source.random() < 0.5:
        # With a window of one frame the reference may wait for ever: it repeats an old position
        # until a quarter of the window is consumed. Of a few it goes on by timeouts alone.
        theirs.append(f"rcv-wnd={source.choice([8 * mtu, 16 * mtu, 128 * 1024])}")
    ours, sub = "|" + "|".join(parts), "|" + "|".join(theirs)
    here = "aeron:udp?endpoint=127.0.0.1"
    row = {
        "unicast": Row(f"{here}:{{p}}{ours}", (f"{here}:{{p}}{sub}",)),
        "multicast": Row(
            f"aeron:udp?endpoint=224.20.30.51:{{p}}|interface=127.0.0.1{ours}",
            (f"aeron:udp?endpoint=224.20.30.51:{{p}}|interface=127.0.0.1{sub}",),
        ),
        "dynamic": Row(
            f"aeron:udp?control=127.0.0.1:{{p}}|control-mode=dynamic{ours}",
            tuple(f"{here}:{{{port}}}|control=127.0.0.1:{{p}}{sub}" for port in "qr"),
        ),
        "manual": Row(
            f"aeron:udp?control-mode=manual{ours}",
            (f"{here}:{{p}}{sub}", f"{here}:{{q}}{sub}"),
            (f"{here}:{{p}}", f"{here}:{{q}}"),
        ),
    }[kind]
    sizes = {"64k": 8192, "256k": 32_768, "1m": 131_072}
    longest = source.choice([16, 200, mtu - 32, mtu, sizes[term_length]])
    return row, longest


def weather(source):
    """How bad the network is: for each kind of frame, in our notation."""
    text = {}
    for kind in ("data", "control"):
        parts = [f"seed={source.randrange(1 << 30)}"]
        parts.append(f"rate={source.choice([0, 0.02, 0.1, 0.25])}")
        parts.append(f"duplicate={source.choice([0, 0.1])}")
        if source.random() < 0.5:
            parts += ["reorder=0.05", "reorder-time=300us"]
        text[kind] = "|".join(parts)
    return text


@pytest.mark.ours("either")
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_the_channel_every_message_arrives(direction, own_link, stream_id, seed):
    source = random.Random(f"{seed} {direction}")
    row, longest = draw(source)
    frames = weather(source)
    sending, receiving = direction.split("-to-")
    own = [
        {f"aeron.rehearse.{side}.{kind}": text for kind, text in frames.items()}
        if name == "ours"
        else None
        for side, name in (("send", sending), ("receive", receiving))
    ]
    link = own_link(*own)
    publication, subscriptions = join(link, row, stream_id)
    receipts = [Receipt(subscription) for subscription in subscriptions]
    count = max(20, min(800, 300_000 // longest))
    messages = checked_messages(count, shortest=12, longest=longest, seed=seed)
    end = transfer(publication, receipts, messages)
    check_rest(link, publication, subscriptions, end)
    assert [r.position for r in receipts] == [end] * len(receipts)
    for side in link.counters():
        assert (side.system("errors"), side.system("invalid_packets")) == (0, 0)
