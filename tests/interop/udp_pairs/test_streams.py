"""One stream from driver to driver over every kind of channel: each byte arrives, in order."""

import pytest
from peer.channels import Row, check_rest, dynamic, join, manual, multicast, unicast
from peer.streams import Receipt, checked_messages, transfer

pytestmark = pytest.mark.interop
ROWS = {
    "unicast": unicast(),
    "unicast with an interface": unicast("|interface=127.0.0.1", sub="|interface=127.0.0.0/8"),
    "unicast to a host name": Row(
        "aeron:udp?endpoint=localhost:{p}|term-length=64k", ("aeron:udp?endpoint=localhost:{p}",)
    ),
    "unicast from an explicit control address": Row(
        "aeron:udp?endpoint=127.0.0.1:{p}|control=127.0.0.1:{q}|term-length=64k",
        ("aeron:udp?endpoint=127.0.0.1:{p}|control=127.0.0.1:{q}",),
    ),
    "unicast over IPv6": Row(
        "aeron:udp?endpoint=[::1]:{p}|term-length=64k",
        ("aeron:udp?endpoint=[::1]:{p}",),
        host="::1",
    ),
    "unicast with two subscribers of one driver": Row(
        "aeron:udp?endpoint=127.0.0.1:{p}|term-length=64k",
        ("aeron:udp?endpoint=127.0.0.1:{p}", "aeron:udp?endpoint=127.0.0.1:{p}|alias=two"),
    ),
    "small frames": unicast("|mtu=64", longest=200),
    "large frames": unicast("|mtu=8192", longest=8192),
    "largest frames": unicast("|mtu=65504", term_length="1m", longest=131_072, count=60),
    "fragmented up to the maximum": unicast(longest=8192),
    "messages of 16 MiB": unicast(term_length="128m", longest=16 << 20, count=4),
    "preset positions": unicast("|init-term-id=-5|term-id=2147|term-offset=61440"),
    "term ids that wrap": unicast("|init-term-id=2147483645|term-id=2147483646|term-offset=0"),
    "small publication window": unicast("|pub-wnd=8k", sub="|rcv-wnd=4k"),
    "large socket buffers": unicast("|so-sndbuf=256k", sub="|so-rcvbuf=180k"),
    "cubic": unicast(sub="|cc=cubic"),
    "group semantics by request": unicast(sub="|group=true"),
    "a delay of NAKs": unicast(sub="|nak-delay=200us"),
    "many resends": unicast("|max-resend=64"),
    "unreliable without loss": unicast(sub="|reliable=false"),
    "aliases and dense files": unicast("|sparse=false|alias=x", sub="|sparse=false|alias=y"),
    "session-specific subscription": unicast("|session-id=-77", sub="|session-id=-77"),
    "multicast": multicast(),
    "multicast with a time to live": multicast("|ttl=3", sub="|ttl=3"),
    "multicast with min flow control": multicast("|fc=min"),
    "multicast with tagged flow control": multicast("|fc=tagged,g:77/1,t:5s", sub="|gtag=77"),
    "multicast with cubic": multicast(sub="|cc=cubic"),
    "dynamic destinations": dynamic("|fc=min,g:/2"),
    "dynamic destinations with tags": dynamic("|fc=tagged,g:5/2", sub="|gtag=5"),
    "manual destinations": manual("|fc=min,g:/2"),
    "manual destinations with min": manual("|fc=min,g:/2,t:5s,rrwm:8", sub="|cc=cubic"),
    "manual destinations with a control address": Row(
        "aeron:udp?control=127.0.0.1:{q}|control-mode=manual|term-length=64k|fc=min,g:/1",
        ("aeron:udp?endpoint=127.0.0.1:{p}",),
        ("aeron:udp?endpoint=127.0.0.1:{p}",),
    ),
    "a subscription with two destinations": Row(
        "aeron:udp?control-mode=manual|term-length=64k|fc=min,g:/1",
        ("aeron:udp?control-mode=manual",),
        ("aeron:udp?endpoint=127.0.0.1:{p}", "aeron:udp?endpoint=127.0.0.1:{q}"),
        ("aeron:udp?endpoint=127.0.0.1:{p}", "aeron:udp?endpoint=127.0.0.1:{q}"),
    ),
    "a subscription that asks a dynamic source": Row(
        "aeron:udp?control=127.0.0.1:{p}|control-mode=dynamic|term-length=64k|fc=min,g:/1",
        ("aeron:udp?control-mode=manual",),
        (),
        ("aeron:udp?endpoint=127.0.0.1:{q}|control=127.0.0.1:{p}",),
    ),
}


# A driver treats both kinds alike but for what a publisher writes: a few rows are enough.
EXCLUSIVE = ("unicast", "fragmented up to the maximum", "multicast")
CASES = [(name, "shared") for name in ROWS] + [(name, "exclusive") for name in EXCLUSIVE]


@pytest.mark.c_driver
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_message_arrives_in_order(link, stream_id, name, kind):
    row = ROWS[name]
    before = [side.all_system() for side in link.counters()]
    publication, subscriptions = join(link, row, stream_id, kind)
    receipts = [Receipt(subscription) for subscription in subscriptions]
    messages = checked_messages(row.count, longest=row.longest, seed=stream_id)
    end = transfer(publication, receipts, messages)
    assert [r.count for r in receipts] == [row.count] * len(receipts)
    assert [r.position for r in receipts] == [end] * len(receipts)
    check_rest(link, publication, subscriptions, end)
    for old, side in zip(before, link.counters(), strict=True):
        new = side.all_system()
        grown = {n: new[n] - old[n] for n in ("errors", "invalid_packets") if new[n] != old[n]}
        assert not grown
