"""Checks of what a cluster's node recovers from: its recording log, snapshots and votes."""

from __future__ import annotations

from functools import partial
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

from aerolog.cluster.files import EntryType
from aerolog.tools.doctor.findings import Area, FindingKind, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerolog.cluster.files import LogEntry
    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case, ClusterSnapshot, RecordingSnapshot

_OPEN: Final = -1
_MODULE: Final = -1
_VALID: Final = 1

_kind: Final = partial(FindingKind, Area.CLUSTER)

MISSING = _kind(
    "recording-log-missing",
    Severity.WARNING,
    "there is no recording.log in the folder of this node",
    "it says which recordings of the archive are the log and the snapshots: without it a node"
    " starts with nothing, as a new member",
    "restore it from a copy if this node has run before; a node that never finished its first start"
    " has none",
)
DAMAGED = _kind(
    "recording-log-damaged",
    Severity.CRITICAL,
    "recording.log is damaged: {fault}",
    "the node does not start: it cannot tell its log and its snapshots any more",
    "restore recording.log from a copy; keep the damaged file, `aerolog explain` shows what can be"
    " read of it",
)
TORN = _kind(
    "recording-log-torn",
    Severity.NOTICE,
    "the last {length!n} bytes of recording.log, from offset {offset!n} on, are no whole entry",
    "the machine stopped while a term or a snapshot was being written down; that entry is lost, and"
    " the one before it counts",
    "nothing: the node passes over them, and overwrites them with the next entry",
)
TERMS_APART = _kind(
    "terms-apart",
    Severity.WARNING,
    "term {term} ends at {end!n}, and term {following} begins at {base!n}",
    "an entry is missing, was written by another node, or was changed by hand; what is between the"
    " two positions belongs to no term, or to both",
    "compare with recording.log of another member, or restore it from a copy",
)
TERM_OPEN = _kind(
    "term-open",
    Severity.WARNING,
    "term {term} has no end, and term {following} follows it",
    "a term gets its end when the next one begins; an entry was lost or changed by hand, and the"
    " node refuses to go on from there",
    "compare with recording.log of another member, or restore it from a copy",
)
INCOMPLETE = _kind(
    "snapshot-incomplete",
    Severity.WARNING,
    "the newest snapshot, at position {position!n}, lacks {missing}; the newest that has every part"
    " is {used}",
    "the node stopped while the snapshot was being taken, or another number of services was"
    " configured then; the node recovers from the older one, and replays the log from there on",
    "take a snapshot when the node runs, and keep the log's segments from the older one on until"
    " then; where a service was removed on purpose, remove its mark file",
)
AHEAD = _kind(
    "snapshot-ahead",
    Severity.CRITICAL,
    "the newest snapshot is at position {position!n}, and the log ends at {end!n}",
    "the archive lost the end of the log, or recording.log is newer than the archive's folder: a"
    " copy of one of the two was restored",
    "start the node with the archive and the recording.log that belong together; else make the"
    " snapshot invalid (aerolog cluster invalidate-latest-snapshot DIR)",
)
LOG_BEHIND = _kind(
    "log-behind",
    Severity.CRITICAL,
    "recording {recording} of the log ends at {end!n}, before position {committed!n} up to which"
    " recording.log says that it is committed",
    "the archive lost the end of the log, or its folder is older than recording.log; what is"
    " missing was agreed on, and clients have answers for it",
    "restore the archive's folder from a copy of the same time, or let the member copy its log from"
    " another one",
)
RECORDING_GONE = _kind(
    "cluster-recording-missing",
    Severity.CRITICAL,
    "recording {recording}, {what}, is not in the archive {archive_dir}",
    "the node does not start without its log and its newest snapshot; the archive may be another"
    " one, or the recording was purged",
    "name the archive of this node; else restore the recording, or make the snapshot invalid"
    " (aerolog cluster invalidate-latest-snapshot DIR)",
)
STATE_DAMAGED = _kind(
    "node-state-damaged",
    Severity.CRITICAL,
    "node-state.dat cannot be used: {fault}",
    "it has the highest term in which this member stood or voted: a member that forgets a vote can"
    " vote twice, and two leaders be elected",
    "restore the file from a copy of this member; with a single member it can be moved away",
)
STATE_MISSING = _kind(
    "node-state-missing",
    Severity.WARNING,
    "recording.log has terms, and there is no node-state.dat",
    "the member has forgotten in which term it voted last, and could vote in that term again",
    "restore the file from a copy of this member; with a single member nothing is lost",
)


def files_are_sound(case: Case) -> Iterator[Finding]:
    """Can recording.log and node-state.dat be read?"""
    cluster = case.now.cluster
    if cluster is None:
        return
    if not cluster.has_log:
        yield MISSING.found(cluster.subject)
    if cluster.log_fault:
        yield DAMAGED.found(cluster.subject, fault=cluster.log_fault)
    if cluster.log_torn:
        yield TORN.found(cluster.subject, length=cluster.log_torn, offset=cluster.log_end)
    if cluster.state_fault:
        yield STATE_DAMAGED.found(cluster.subject, fault=cluster.state_fault)
    if not cluster.has_state and cluster.entries:
        yield STATE_MISSING.found(cluster.subject)


def terms_meet(case: Case) -> Iterator[Finding]:
    """Does each term begin where the one before it ends?"""
    cluster = case.now.cluster
    if cluster is None:
        return
    for one, following in pairwise(_terms(cluster)):
        figures = {"term": one.leadership_term_id, "following": following.leadership_term_id}
        if one.log_position == _OPEN:
            yield TERM_OPEN.found(cluster.subject, **figures)
        elif one.log_position != following.term_base_log_position:
            yield TERMS_APART.found(
                cluster.subject,
                **figures,
                end=one.log_position,
                base=following.term_base_log_position,
            )


def snapshots_are_whole(case: Case) -> Iterator[Finding]:
    """Has the newest snapshot all parts, and does the log reach to it?"""
    cluster = case.now.cluster
    if cluster is None:
        return
    snapshots = _snapshots(cluster)
    newest = snapshots[-1] if snapshots else []
    there = {one.service_id for one in newest}
    known = {mark.service_id for mark in cluster.services}
    wanted = set(range(_MODULE, max(there | known, default=_MODULE) + 1))
    whole = [parts for parts in snapshots if {one.service_id for one in parts} >= wanted]
    if newest and there != wanted:
        yield INCOMPLETE.found(
            cluster.subject,
            position=newest[0].log_position,
            missing=", ".join(_part(one) for one in sorted(wanted - there)),
            used=f"the one at {whole[-1][0].log_position:,}" if whole else "none",
        )
    yield from _log_reaches(case, cluster, whole[-1] if whole else [])


def _log_reaches(case: Case, cluster: ClusterSnapshot, parts: list[LogEntry]) -> Iterator[Finding]:
    """Compares recording log and archive, as far as there is one to look at."""
    terms, archive = _terms(cluster), case.now.archive
    last = terms[-1] if terms else None
    end = _OPEN if last is None else last.log_position
    if archive is not None:
        there = {one.descriptor.recording_id: one for one in archive.recordings}
        for entry in ([] if last is None else [last]) + parts:
            found = there.get(entry.recording_id)
            if found is None or found.state != _VALID:
                yield RECORDING_GONE.found(
                    cluster.subject,
                    recording=entry.recording_id,
                    what=_role(entry),
                    archive_dir=archive.archive_dir,
                )
        log = None if last is None else there.get(last.recording_id)
        if last is not None and log is not None and log.state == _VALID and _is_known(log):
            end = log.end
            committed = max(last.log_position, last.term_base_log_position)
            if end < committed:
                yield LOG_BEHIND.found(
                    cluster.subject, recording=last.recording_id, end=end, committed=committed
                )
    if parts and _OPEN < end < parts[0].log_position:
        yield AHEAD.found(cluster.subject, position=parts[0].log_position, end=end)


def _is_known(log: RecordingSnapshot) -> bool:
    """Whether it is known where a recording ends."""
    return not log.descriptor.is_active or (log.counter_position, log.recovered_end) != (None, None)


def _terms(cluster: ClusterSnapshot) -> list[LogEntry]:
    return [one for one in cluster.entries if one.is_valid and one.type == EntryType.TERM]


def _snapshots(cluster: ClusterSnapshot) -> list[list[LogEntry]]:
    """The node's own snapshots that count, the oldest first, each as its parts."""
    valid = [one for one in cluster.entries if one.is_valid and one.type == EntryType.SNAPSHOT]
    return [list(parts) for _, parts in groupby(valid, key=lambda one: one.place)]


def _role(entry: LogEntry) -> str:
    if entry.type == EntryType.TERM:
        return "the log"
    return f"the newest snapshot's part of {_part(entry.service_id)}"


def _part(service_id: int) -> str:
    return "the consensus module" if service_id == _MODULE else f"service {service_id}"


CHECKS: Final = (files_are_sound, terms_meet, snapshots_are_whole)
