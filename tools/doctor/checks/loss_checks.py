"""Checks of loss: what was lost, and where on its way."""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.tools.views import counter_keys
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.time_units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case, DriverSnapshot, Socket
    from aerolog.transport.memory.loss_report import LossEntry

_LOCAL_ADDRESS: Final = CounterType.LOCAL_SOCKET_ADDRESS
_LOCAL_KEY: Final = struct.Struct("<ii")
_RECENT_MS: Final = 10 * 60_000


_kind: Final = partial(FindingKind, Area.LOSS)

LOSS_SOCKET = _kind(
    "loss-socket-full",
    Severity.WARNING,
    "the kernel dropped {drops!n} datagrams at port {port} for want of room in the socket's buffer"
    " ({new!n} of them while we looked)",
    "the receiver does not empty the socket as fast as datagrams come: the buffer is smaller than a"
    " burst, or the receiver does not get its turn",
    "raise so-rcvbuf of the channel or aeron.socket.so_rcvbuf (and net.core.rmem_max), not below"
    " the receiver window; give the receiver a CPU and a busier idle strategy",
)
LOSS_NETWORK = _kind(
    "loss-network",
    Severity.WARNING,
    "{bytes!b} were lost in {count!n} gaps, the last one {age_ms!m} ago ({new_bytes!b} while we"
    " looked), and asked for again; the socket of this machine has dropped none of it",
    "they were lost before this machine's socket: in a switch, at the sender's network card, in a"
    " tunnel, or by a rehearsal of bad networks; the stream waits for each repair",
    "look at drops along the way (ethtool -S, ip -s link, the switch's ports); send smoother: flow"
    " or congestion control (fc, cc=cubic), a smaller window; check MTU and fragments",
)
LOSS_SOMEWHERE = _kind(
    "loss-receiver",
    Severity.WARNING,
    "{bytes!b} were lost in {count!n} gaps, the last one {age_ms!m} ago ({new_bytes!b} while we"
    " looked), and asked for again; the socket of this machine has dropped {drops!n} datagrams",
    "at least a part was lost at this machine's own socket, whose buffer was full",
    "see the finding loss-socket-full; when drops stop and this goes on, it is the network",
)
LOSS_PAST = _kind(
    "loss-past",
    Severity.NOTICE,
    "{bytes!b} were lost in {count!n} gaps, the last one {age_ms!m} ago",
    "it was repaired, or given up, long ago; the report goes back to the driver's start",
    "nothing now; compare the times with what else happened then",
)
LOSS_GIVEN_UP = _kind(
    "loss-given-up",
    Severity.CRITICAL,
    "{count!n} gaps were filled with padding: what was in them is lost to the subscribers"
    " ({new!n} of them while we looked)",
    "the subscription is unreliable (reliable=false): it does not ask for what was lost",
    "where every message matters subscribe with reliable=true, which is the default",
)
OVER_RUNS = _kind(
    "loss-over-run",
    Severity.WARNING,
    "{count!n} packets came beyond the receiver's window and were thrown away ({new!n} of them"
    " while we looked)",
    "the sender goes ahead of what a receiver permits: with fc=max the fastest receiver leads, and"
    " this one is slower",
    "let the sender wait for all receivers that matter (fc=min or fc=tagged); make the slow"
    " subscriber faster; greater windows",
)
UNDER_RUNS = _kind(
    "loss-under-run",
    Severity.NOTICE,
    "{count!n} packets came that were there already ({new!n} of them while we looked)",
    "they came twice or late: more is sent again than was lost, or the network doubles packets",
    "with several receivers longer NAK delays (nak-delay); look for doubled routes",
)
INVALID_PACKETS = _kind(
    "packets-invalid",
    Severity.WARNING,
    "{count!n} packets were invalid ({new!n} of them while we looked)",
    "something else sends to this port, or packets are damaged or cut off on their way",
    "look with tcpdump who sends them; use ports of its own for each purpose; same MTU everywhere",
)
SHORT_SENDS = _kind(
    "sends-short",
    Severity.WARNING,
    "{count!n} sends were not taken whole by the socket ({new!n} of them while we looked)",
    "the send buffer is full, the route is gone, or the network card is slower than the sender",
    "raise so-sndbuf or aeron.socket.so_sndbuf (and net.core.wmem_max); look at the driver's error"
    " log for the system's message",
)
TTL = _kind(
    "ttl-asymmetry",
    Severity.WARNING,
    "{count!n} multicast setups came with another TTL than this receiver uses",
    "status messages or NAKs may die on their way back: the sender does not hear this receiver",
    "give publications and subscriptions of a group the same ttl",
)
RETRANSMIT_OVERFLOW = _kind(
    "retransmits-refused",
    Severity.WARNING,
    "{count!n} requests to send again were refused: all slots were taken ({new!n} of them while we"
    " looked)",
    "more gaps are open at once than a publication repairs; receivers ask again, repair is slower",
    "raise max-resend of the channel or aeron.max.resend; find out why so much is lost",
)
STATUS_REJECTED = _kind(
    "status-rejected",
    Severity.WARNING,
    "{count!n} status messages of receivers were rejected ({new!n} of them while we looked)",
    "receivers that do not fit the stream, for example of an earlier life of a publication, report"
    " positions outside of it",
    "use a new session id after a restart; look which receivers are old",
)
REPAIR_BEHIND = _kind(
    "loss-not-repaired",
    Severity.CRITICAL,
    "{missing!b} are missing behind position {position!n}, and nothing was repaired for {span!t}",
    "NAKs do not reach the sender or what it sends again does not arrive; subscribers wait at the"
    " gap",
    "look at the sender: NAKs received (snd-naks-received), retransmits; a firewall in the way"
    " back; an MTU that does not fit",
)

_COUNTS: Final = (
    (LOSS_GIVEN_UP, SystemCounter.LOSS_GAP_FILLS, Severity.CRITICAL, Severity.WARNING),
    (OVER_RUNS, SystemCounter.FLOW_CONTROL_OVER_RUNS, Severity.WARNING, Severity.NOTICE),
    (UNDER_RUNS, SystemCounter.FLOW_CONTROL_UNDER_RUNS, Severity.NOTICE, Severity.NOTICE),
    (INVALID_PACKETS, SystemCounter.INVALID_PACKETS, Severity.WARNING, Severity.NOTICE),
    (SHORT_SENDS, SystemCounter.SHORT_SENDS, Severity.WARNING, Severity.NOTICE),
    (TTL, SystemCounter.POSSIBLE_TTL_ASYMMETRY, Severity.WARNING, Severity.WARNING),
    (RETRANSMIT_OVERFLOW, SystemCounter.RETRANSMIT_OVERFLOW, Severity.WARNING, Severity.NOTICE),
    (STATUS_REJECTED, SystemCounter.STATUS_MESSAGES_REJECTED, Severity.WARNING, Severity.NOTICE),
)


def losses_by_cause(case: Case) -> Iterator[Finding]:
    """What was lost, and was it at our socket or before it?"""
    driver = case.driver
    if driver is None:
        return
    dropping = _dropping(driver)
    before = {} if case.driver_before is None else _dropping(case.driver_before)
    for channel, socket in dropping.items():
        if socket.drops > 0:
            was = before.get(channel)
            new = socket.drops - was.drops if was is not None and was.inode == socket.inode else 0
            yield LOSS_SOCKET.found(
                channel,
                Severity.WARNING if new or case.before is None else Severity.NOTICE,
                drops=socket.drops,
                new=new,
                port=socket.port,
            )
    for entry in driver.losses:
        yield _entry(entry, case, driver, dropping)


def _entry(
    entry: LossEntry, case: Case, driver: DriverSnapshot, dropping: dict[str, Socket]
) -> Finding:
    age_ms = max(case.now.now_ms - entry.last_observation_ms, 0)
    before = case.driver_before
    new_bytes = 0
    if before is not None:
        new_bytes = max(_lost(driver, entry) - _lost(before, entry), 0)
    drops = sum(one.drops for channel, one in dropping.items() if _same(channel, entry.channel))
    kind = LOSS_SOMEWHERE if drops else LOSS_NETWORK
    if age_ms > _RECENT_MS and not new_bytes:
        kind = LOSS_PAST
    return kind.found(
        f"stream {entry.stream_id}, session {entry.session_id}, {entry.channel} from"
        f" {entry.source}",
        bytes=entry.total_bytes_lost,
        count=entry.observation_count,
        age_ms=age_ms,
        new_bytes=new_bytes,
        drops=drops,
    )


def _lost(driver: DriverSnapshot, entry: LossEntry) -> int:
    """Bytes that a driver's report has for the stream and the source of an entry."""
    named = (entry.session_id, entry.stream_id, entry.source)
    return sum(
        one.total_bytes_lost
        for one in driver.losses
        if (one.session_id, one.stream_id, one.source) == named
    )


def loss_is_repaired(case: Case) -> Iterator[Finding]:
    """Does a gap stay?"""
    driver, before = case.driver, case.driver_before
    if driver is None or before is None:
        return
    earlier = {one.registration_id: one for stream in before.streams for one in stream.receivers}
    for stream in driver.streams:
        for one in stream.receivers:
            was = earlier.get(one.registration_id)
            stays = was is not None and was.position == one.position and was.missing > 0
            if stays and one.missing > 0:
                yield REPAIR_BEHIND.found(
                    f"stream {stream.stream_id}, session {stream.session_id}, {one.channel}",
                    missing=one.missing,
                    position=one.position or 0,
                    span=int(case.interval_s * NS_PER_S),
                )


def packets_counted(case: Case) -> Iterator[Finding]:
    """What the driver counts of packets that did no good."""
    driver = case.driver
    if driver is None:
        return
    for kind, system_id, growing, past in _COUNTS:
        counter = driver.system.get(system_id)
        if counter is not None and counter.value > 0:
            new = case.growth_of(counter)
            severity = growing if new or case.before is None else past
            yield kind.found(f"driver {driver.aeron_dir}", severity, count=counter.value, new=new)


def _dropping(driver: DriverSnapshot) -> dict[str, Socket]:
    """The driver's sockets by channel and address, as far as they can be told apart by port."""
    by_port: dict[int, list[Socket]] = {}
    for socket in driver.sockets:
        by_port.setdefault(socket.port, []).append(socket)
    channels = {
        counter.id: counter_keys.label_channel(counter.label)
        for type_id in (CounterType.SEND_CHANNEL_STATUS, CounterType.RECEIVE_CHANNEL_STATUS)
        for counter in driver.of_type(type_id)
    }
    found: dict[str, Socket] = {}
    for counter in driver.of_type(_LOCAL_ADDRESS):
        status_id, length = _LOCAL_KEY.unpack_from(counter.key.ljust(_LOCAL_KEY.size, b"\0"))
        address = counter.key[_LOCAL_KEY.size :][: max(length, 0)].decode("ascii", "replace")
        port = address.rpartition(":")[2]
        sockets = by_port.get(int(port), []) if port.isdigit() else []
        if sockets:
            name = channels.get(status_id) or ""
            # Several sockets of one port: the worst of them is ours, or shares the datagrams.
            worst = max(sockets, key=lambda one: one.drops)
            found[f"{name.partition(' ')[0]} at {address}"] = worst
    return found


def _same(socket: str, channel: str) -> bool:
    return socket.partition(" at ")[0] == channel.partition(" ")[0]


CHECKS: Final = (losses_by_cause, loss_is_repaired, packets_counted)
