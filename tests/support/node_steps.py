"""Files of a cluster's node, written step by step from lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.cluster.files import (
    CandidateTerm,
    EntryType,
    LogEntry,
    NodeStateFile,
    RecordingLog,
)

if TYPE_CHECKING:
    from pathlib import Path

STEPS = {
    "nothing": "",
    "terms": "term 7 0 0 1000\ncommit 0 640\nterm 7 1 640 2000\nstate 3 44 55\n",
    "snapshots": """\
term 7 0 0 1000
snapshot 9 0 0 320 1001 1
snapshot 8 0 0 320 1001 0
snapshot 10 0 0 320 1001 -1
commit 0 640
term 7 1 640 2000
snapshot 12 1 640 960 2001 1
snapshot 11 1 640 960 2001 0
snapshot 13 1 640 960 2001 -1
state 4 5 6
propose 2 1 1
propose 9 8 7
""",
    "re-use": """\
term 7 0 0 1000
snapshot 9 0 0 320 1001 1
snapshot 8 0 0 320 1001 0
snapshot 10 0 0 320 1001 -1
invalidate
snapshot 20 0 0 320 1005 0
snapshot 21 0 0 320 1005 -1
""",
    "standby": """\
term 7 0 0 1000
standby 5 0 0 960 2200 0 a-much-longer-name.of.an.archive:8010
standby 6 0 0 960 2200 -1 here:8010
snapshot 31 0 0 640 1007 0
snapshot 30 0 0 640 1007 -1
""",
    "standby at one position": """\
term 7 0 0 1000
snapshot 11 0 0 320 1001 0
snapshot 12 0 0 320 1001 -1
commit 0 640
term 7 1 640 2000
standby 5 1 640 960 2200 0 a:1
standby 6 1 640 960 2200 -1 a:1
standby 9 1 640 960 2200 0 b:1
standby 10 1 640 960 2200 -1 b:1
""",
    "no order": """\
term 7 0 0 1000
commit 0 640
term 7 1 640 2000
snapshot 9 0 0 320 1001 0
snapshot 10 0 0 320 1001 -1
""",
}


def with_ours(folder: Path, steps: str) -> None:
    state = NodeStateFile(folder, create=True)
    with RecordingLog(folder, create=True) as log:
        for line in steps.splitlines():
            name, *words = line.split()
            numbers = [int(word) for word in words[:6]]
            if name == "commit":
                log.commit_log_position(*numbers)
            elif name == "invalidate":
                log.invalidate_latest_snapshot()
            elif name == "state":
                state.update(CandidateTerm(*numbers))
            elif name == "propose":
                state.propose_max(CandidateTerm(*numbers))
            else:
                log.append(entry_of(name, numbers, words))


def entry_of(name: str, numbers: list[int], words: list[str]) -> LogEntry:
    recording_id, term_id, base, *behind = numbers
    if name == "term":
        behind = [-1, *behind, -1]
    kinds = {
        "term": EntryType.TERM,
        "snapshot": EntryType.SNAPSHOT,
        "standby": EntryType.STANDBY_SNAPSHOT,
    }
    return LogEntry(
        recording_id=recording_id,
        leadership_term_id=term_id,
        term_base_log_position=base,
        log_position=behind[0],
        timestamp=behind[1],
        service_id=behind[2],
        type=kinds[name],
        archive_endpoint="".join(words[6:]),
    )
