"""The names of properties that some component reads, and warnings about unknown names.

Known are the names of the reference's programs at version 1.51.0 (spec configuration 5 to 18), of
its C driver, and of aerolog. A name outside ``aeron.`` and ``aerolog.`` is not checked.
"""

from __future__ import annotations

import difflib
import functools
import re
import threading
from typing import TYPE_CHECKING, Any, Final

from aerolog.transport.config.definition import Declare, environment_name
from aerolog.transport.text_output import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from aerolog.transport.config.definition import Property
    from aerolog.transport.config.sources import Properties

#: Declared here because every component reads it.
STRICT: Final = Declare("aerolog.").boolean(
    "aerolog.strict",
    False,
    "make an unknown property, variable or channel parameter an error in place of a warning",
)

_NAMES: Final = {
    "aerolog.": """
        strict
    """,
    "aerolog.driver.": """
        source.image.rate source.images.max
    """,
    "aerolog.archive.": """
        bound.control.sessions delete.rate hmac.key.file max.control.sessions password.file
        response.queue.length rules.file time.index time.source verify.interval verify.look.interval
        verify.rate
    """,
    "aeron.": """
        CongestionControl.supplier CubicCongestionControl.initialRtt
        CubicCongestionControl.measureRtt CubicCongestionControl.tcpMode
        PreferredMulticastFlowControl.asf ReceiveChannelEndpoint.supplier
        SendChannelEndpoint.supplier agent.on.start.function client.close.linger.duration
        client.idle.sleep.duration client.liveness.timeout client.name
        client.pre.touch.mapped.memory client.resource.linger.duration
        clients.buffer.length conductor.buffer.length conductor.cpu.affinity
        conductor.idle.strategy conductor.idle.strategy.init.args
        conductor.udp.channel.transport.bindings.media counters.buffer.length
        counters.free.to.reuse.timeout dir dir.delete.on.shutdown dir.delete.on.start
        dir.warn.if.exists enable.experimental.features error.buffer.length
        fallback.logger file.page.size flow.control.group.min.size flow.control.group.tag
        flow.control.receiver.timeout flow.control.sm.applicationSpecificFeedback
        image.liveness.timeout ipc.mtu.length ipc.publication.term.window.length
        ipc.term.buffer.length loss.report.buffer.length low.file.store.warning.threshold
        max.resend media.receive.timestamps mtu.length multicast.FlowControl.supplier
        multicast.flow.control.rrwm multicast.flow.control.strategy
        nak.multicast.group.size nak.multicast.max.backoff nak.unicast.delay
        nak.unicast.retry.delay.ratio name.resolver.csv.lookup.table.args
        name.resolver.init.args name.resolver.supplier name.resolver.threshold
        network.offload network.publication.max.messages.per.send perform.storage.checks
        pre.touch.mapped.memory print.configuration publication.connection.timeout
        publication.linger.timeout publication.reserved.session.id.high
        publication.reserved.session.id.low publication.term.window.length
        publication.unblock.timeout rcv.initial.window.length rcv.status.message.timeout
        receiver.cpu.affinity receiver.group.consideration receiver.group.tag
        receiver.idle.strategy receiver.idle.strategy.init.args
        receiver.io.vector.capacity receiver.wildcard.port.range rehearse.receive.control
        rehearse.receive.data rehearse.send.control rehearse.send.data rejoin.stream
        reliable.stream retransmit.unicast.delay retransmit.unicast.linger
        secure.random.algorithm send.to.status.poll.ratio sender.cpu.affinity
        sender.idle.strategy sender.idle.strategy.init.args sender.io.vector.capacity
        sender.wildcard.port.range shared.idle.strategy shared.idle.strategy.init.args
        sharednetwork.idle.strategy sharednetwork.idle.strategy.init.args
        socket.multicast.ttl socket.so_rcvbuf socket.so_sndbuf spies.simulate.connection
        term.buffer.length term.buffer.sparse.file tether.subscriptions threading.mode
        timer.interval udp.channel.incoming.interceptors udp.channel.outgoing.interceptors
        udp.channel.transport.bindings.fixed.loss.args
        udp.channel.transport.bindings.loss.args udp.channel.transport.bindings.media
        udp.channel.transport.bindings.multi.gap.loss.args unicast.FlowControl.supplier
        unicast.flow.control.rrwm unicast.flow.control.strategy untethered.linger.timeout
        untethered.resting.timeout untethered.window.limit.timeout
        use.windows.high.res.timer
    """,
    "aeron.archive.": """
        authenticator.supplier authorisation.service.supplier catalog.capacity
        catalog.file.sync.level client.name conductor.cycle.threshold connect.timeout
        control.channel control.channel.enabled control.mtu.length
        control.response.channel control.response.stream.id control.stream.id
        control.term.buffer.length control.term.buffer.sparse dir dir.delete.on.start
        error.buffer.length file.io.max.length file.sync.level id idle.strategy
        local.control.channel local.control.stream.id low.storage.space.threshold
        mark.file.dir max.catalog.entries max.concurrent.recordings max.concurrent.replays
        message.retry.attempts message.timeout record.checksum recorder.cycle.threshold
        recorder.idle.strategy recording.events.channel recording.events.enabled
        recording.events.stream.id replay.checksum replay.linger.timeout
        replayer.cycle.threshold replayer.idle.strategy replication.channel
        segment.file.length segment.file.preallocate session.liveness.check.interval
        threading.mode
    """,
    "aeron.cluster.": """
        accept.standby.snapshots appointed.leader.id authenticator.supplier
        authorisation.service.supplier client.name clock consensus.channel
        consensus.control.enable consensus.endpoints consensus.module.agent.role.name
        consensus.module.extension consensus.module.stream.id consensus.stream.id
        control.channel cycle.threshold dir egress.channel egress.stream.id
        election.status.interval election.timeout error.buffer.length file.sync.level
        follower.catchup.channel id idle.strategy ingress.channel ingress.endpoints
        ingress.fragment.limit ingress.ipc.allowed ingress.stream.id
        leader.archive.control.channel leader.heartbeat.interval leader.heartbeat.timeout
        log.channel log.control.enable log.fragment.limit log.stream.id mark.file.dir
        max.sessions member.endpoints member.id members message.timeout replay.channel
        replay.stream.id replication.channel replication.progress.interval
        replication.progress.timeout services.dir session.timeout snapshot.channel
        snapshot.stream.id standby.snapshot.notification.processing.delay
        startup.canvass.timeout termination.timeout ticks.per.wheel timer.service.supplier
        total.snapshot.threshold wheel.tick.resolution
    """,
    "aeron.cluster.backup.": """
        catchup.channel catchup.endpoint cool.down.interval interval progress.timeout
        response.timeout source.type
    """,
    "aeron.cluster.service.": """
        class.name count cycle.threshold delegating.error.handler error.buffer.length id
        name responder snapshot.threshold stream.id
    """,
    "aeron.cluster.tool.": """
        delay replay.channel replay.stream.id timeout
    """,
    "aeron.debug.": """
        receive.control.loss.rate receive.control.loss.seed receive.data.loss.rate
        receive.data.loss.seed send.control.loss.rate send.control.loss.seed
        send.data.loss.rate send.data.loss.seed timeout
    """,
    "aeron.driver.": """
        async.executor.enabled async.executor.idle.strategy
        async.executor.idle.strategy.init.args conductor.cycle.threshold connect
        dynamic.libraries name.resolver.threshold receiver.cycle.threshold
        reresolution.check.interval resolver.bootstrap.neighbor
        resolver.bootstrap.neighbor.resolution.interval resolver.interface resolver.name
        resolver.neighbor.resolution.interval resolver.neighbor.timeout
        resolver.self.resolution.interval resource.free.limit sender.cycle.threshold
        stream.session.limit termination.validator timeout
    """,
    "aeron.event.": """
        archive.log archive.log.disable buffer.length cluster.log cluster.log.disable log
        log.disable log.filename log.reader.classname
    """,
    "aeron.log.inspector.": """
        data.format scanOverZeroes skipDefaultHeader
    """,
}
# Only the samples read the names of samples and of their error files.
_PREFIXES: Final = ("AERON_SAMPLE_", "AERON_SAMPLES_")
# Kubernetes sets such variables for a service with the name ``aeron`` or ``aeron-...``.
_SERVICE_LINK: Final = re.compile(
    r"AERON_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)", re.ASCII
)

#: Known names by their environment name.
KNOWN_NAMES: Final = {
    environment_name(prefix + rest): prefix + rest
    for prefix, names in _NAMES.items()
    for rest in names.split()
}

_TOLD_LIMIT: Final = 1000
_told: set[str] = set()
_lock: Final = threading.Lock()


def unknown_names(properties: Properties, table: Sequence[Property[Any]]) -> Iterator[str]:
    """Yield a line for each unknown property or variable, with the nearest known name.

    Args:
        properties: the names that were given.
        table: the properties of the component that reads them, which are known in any case.
    """
    own = {name for prop in table for name in (environment_name(prop.name), prop.env)}
    for name, raw in properties:
        variable = environment_name(name)
        is_property = name.startswith(("aeron.", "aerolog."))
        if not (is_property or name.startswith("AERON_")) or variable in own or _is_known(variable):
            continue
        near = nearest(variable, KNOWN_NAMES)
        if near is not None and is_property:
            near = KNOWN_NAMES[near]
        kind = "property" if is_property else "variable"
        yield f"unknown {kind} {name}{suggestion(near)} ({raw.source})"


def suggestion(near: str | None) -> str:
    """Return the end of a sentence that suggests the nearest known name, empty without one."""
    return "" if near is None else f"; did you mean {near}?"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like another one, or None if none is."""
    return _nearest(name, tuple(known))


def tell_once(identity: str) -> bool:
    """Return whether something has not been reported by this process, and record that it now is.

    After a thousand reports the answer is always False, so that a client's names cannot fill a log.
    """
    with _lock:
        if identity in _told or len(_told) >= _TOLD_LIMIT:
            return False
        _told.add(identity)
        return True


def warn_on_stderr(line: str) -> None:
    """Write a warning to stderr, for a service that runs in the foreground."""
    write_text(f"WARNING: {line}\n")


@functools.lru_cache(maxsize=256)
def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    close = difflib.get_close_matches(name, known, 1)
    return close[0] if close else None


def _is_known(variable: str) -> bool:
    return (
        variable in KNOWN_NAMES
        or variable.startswith(_PREFIXES)
        or _SERVICE_LINK.fullmatch(variable) is not None
    )
