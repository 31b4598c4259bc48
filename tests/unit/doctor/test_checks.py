"""Each thing that can be found is found in its example, and not in what is nearly one."""

from __future__ import annotations

import string
from dataclasses import replace

import pytest

from aerolog.archive.retention.holds import Hold
from aerolog.tools.doctor.check_groups import all_kinds, examine
from aerolog.tools.doctor.findings import Severity
from aerolog.tools.doctor.system_snapshot import Case, Disk, Socket
from aerolog.tools.views.companion_views import HealthView, RetentionView
from aerolog.transport.logbuffer.metadata import LogType

from .examples import (
    ACTIVE,
    EXAMPLES,
    HELD,
    LAST_RUN,
    LOG,
    LOSS,
    RECEIVING,
    WHOLE,
    clustered,
    counted,
    growing,
    grown,
    of_cluster,
    retained,
)
from .made_up import (
    GIB,
    GONE,
    NOW_MS,
    TERM,
    archive,
    case,
    cluster,
    driver,
    entry,
    heartbeat,
    image_stream,
    ipc_stream,
    log,
    look,
    marked,
    recording,
    segment,
    sent_stream,
    snapshot,
    system,
)

ELECTED = clustered(of_cluster(200, 1), of_cluster(207, 17))
KINDS = {kind.code: kind for kind in all_kinds()}


def codes(seen: Case) -> list[str]:
    """What is found, by code."""
    return [finding.code for finding in examine(seen)]


@pytest.mark.parametrize(
    ("code", "severity", "seen"),
    EXAMPLES,
    ids=[f"{code}-{severity.label}-{n}" for n, (code, severity, _) in enumerate(EXAMPLES)],
)
def test_it_is_found(code, severity, seen):
    found = [finding for finding in examine(seen) if finding.code == code]
    assert [finding.severity for finding in found] == [severity]
    assert found[0].subject


@pytest.mark.parametrize("seen", [seen for _, _, seen in EXAMPLES])
def test_the_texts_of_all_findings_can_be_written(seen):
    for finding in examine(seen):
        for text in (finding.what, finding.reason, finding.remedy):
            assert text
            assert "{" not in text


def test_everything_that_can_be_found_has_an_example():
    assert {code for code, _, _ in EXAMPLES} == set(KINDS)


def test_codes_are_unique_and_their_texts_name_known_units():
    assert len(KINDS) == len(list(all_kinds()))
    for kind in KINDS.values():
        for text in (kind.what, kind.reason, kind.remedy):
            units = {unit for _, _, _, unit in string.Formatter().parse(text)}
            assert units <= {None, "b", "m", "n", "t", "v"}, kind.code


def test_healthy_ones_have_no_findings():
    stream = ipc_stream(40_000, 70_000, 40_000)
    healthy = look(
        driver([*system(), heartbeat(1, 500)], streams=[stream], logs={10: log()}),
        archive(recording()),
    )
    assert codes(case(healthy)) == []
    assert codes(case(healthy, healthy)) == []
    assert codes(Case(look())) == []


HEALTHY_ENOUGH = {
    "a process of another container gives signs of life": case(driver(process=GONE)),
    "a client that is young": case(driver([*system(), heartbeat(3, 2_000)])),
    "a client that has not beaten yet": case(driver([*system(), heartbeat(3, NOW_MS)])),
    "a reader that was not behind before": case(
        driver(streams=[ipc_stream(9_000, 40_000, 8_000)]),
        driver(streams=[ipc_stream(8_000, 40_000, 8_000)]),
    ),
    "a reader that moves": case(
        driver(streams=[ipc_stream(9_000, 40_000, 8_500)]),
        driver(streams=[ipc_stream(8_500, 40_000, 8_000)]),
    ),
    "a limit that was reached just now": case(
        driver(streams=[ipc_stream(10_000, 10_000, 9_000)], logs={10: log()}),
        driver(streams=[ipc_stream(8_000, 10_000, 8_000)], logs={10: log()}),
    ),
    "a claim that was committed meanwhile": case(
        driver(streams=[ipc_stream(5_000, 30_000, 4_096)], logs={10: log(tail=8_192)}),
        driver(
            streams=[ipc_stream(4_096, 30_000, 4_090)], logs={10: log(blocked_at=4_096, tail=8_192)}
        ),
    ),
    "a publication that is closed and not yet read": case(
        driver(streams=[ipc_stream(640, 640, 640)], logs={10: log(is_ended=True)}),
        driver(streams=[ipc_stream(640, 640, 640)], logs={10: log()}),
    ),
    "a claim of another publication": case(
        driver(
            streams=[ipc_stream(4_096, 30_000, 4_096)],
            logs={10: log(blocked_at=4_096, tail=8_192, session_id=8)},
        ),
        driver(
            streams=[ipc_stream(4_096, 30_000, 4_096)],
            logs={10: log(blocked_at=4_096, tail=8_192)},
        ),
    ),
    "a gap that is repaired while others come": case(
        driver(streams=[image_stream(8_000, 9_000)]), driver(streams=[image_stream(4_096, 8_000)])
    ),
    "a socket that dropped nothing": case(
        driver(RECEIVING, sockets=[Socket(20121, 0), Socket(7, 99)])
    ),
    "a window of half a term that is great": case(
        driver(
            streams=[image_stream(0, 0)],
            logs={30: log(LogType.IMAGE, term_length=1 << 20, receiver_window_length=128 << 10)},
        )
    ),
    "an IPC log, which has no socket": case(
        driver(streams=[ipc_stream(0, 9, 0)], logs={10: log(mtu_length=65_504)})
    ),
    "a recording that just began": case(
        archive(recording(segment(0), **ACTIVE)), archive(recording())
    ),
    "a recording whose counters nobody could see": case(
        archive(recording(segment(0), **ACTIVE), sees_counters=False)
    ),
    "a recording with its counter": case(
        archive(recording(segment(0), counter_position=4_096, **ACTIVE))
    ),
    "a full last segment and the next one made": case(
        archive(recording(segment(0), segment(TERM), segment(2 * TERM)))
    ),
    "a recording that begins in a term": case(
        archive(
            recording(
                segment(TERM),
                segment(2 * TERM),
                start_position=TERM + 4_096,
                stop_position=3 * TERM,
            )
        )
    ),
    "an empty recording": case(archive(recording(segment(0), stop_position=0))),
    "a deleted recording": case(archive(recording(segment(TERM), state=2))),
    "a great disk with ten percent": case(
        archive(disk=Disk("/data", total=10_000 * GIB, free=900 * GIB))
    ),
    "a filling disk of months": case(
        archive(recording(segment(0), counter_position=TERM, **ACTIVE)),
        archive(recording(segment(0), counter_position=TERM - 32, **ACTIVE)),
    ),
    "an index that is a moment behind": growing(49_000, 200),
    "an index of a recording in which nothing happens": growing(60_000, 60_000),
    "a recording without an index where nobody keeps any": case(archive(recording())),
    "an empty recording without an index": case(
        archive(recording(segment(0), stop_position=0), keeps_times=True)
    ),
    "a recording whose only segment is still open": case(
        archive(recording(segment(0), counter_position=4_096, **ACTIVE), is_verified=True)
    ),
    "a recording that is sound": case(
        archive(recording(health=HealthView("sound", {"sound": 2})), is_verified=True)
    ),
    "retention that has never run": case(archive(retention=RetentionView())),
    "retention that runs just now": retained(run=replace(LAST_RUN, end_ms=None), is_running=True),
    "retention that makes room in time": retained(),
    "a node with two snapshots and an older one of more services": case(
        look(
            None,
            archive(recording(**LOG), recording(recording_id=1)),
            cluster=cluster(
                entry(0, 0, 640),
                *snapshot(320, 1, 0, -1),
                *snapshot(640, 0, -1),
                entry(1, 640),
            ),
        )
    ),
    "a snapshot that somebody made invalid": case(
        cluster(entry(0, 0, 256), *(replace(one, is_valid=False) for one in WHOLE))
    ),
    "a module that leads": case(ELECTED, ELECTED),
    "an election at one look": case(clustered(of_cluster(207, 6))),
    "an election that goes on": counted(207, 5, 6),
    "a hold without an end, and one that ends later": retained(
        holds=(Hold(3, "audit"), Hold(4, "trial", NOW_MS + 1))
    ),
}


@pytest.mark.parametrize("name", list(HEALTHY_ENOUGH))
def test_what_is_nearly_one_is_none(name):
    assert codes(HEALTHY_ENOUGH[name]) == []


def test_a_dead_driver_s_streams_and_clients_are_not_judged():
    dead = driver(
        [*system(), heartbeat(3, 60_000)],
        heartbeat_ms=NOW_MS - 60_000,
        process=GONE,
        streams=[HELD],
        logs={10: log()},
    )
    assert codes(case(dead, dead)) == ["driver-dead"]


def test_looks_at_two_drivers_of_one_directory_are_not_compared():
    before = driver(system(c24=9), start_ms=NOW_MS - 9_000, process=GONE)
    (finding,) = examine(case(driver(system(c24=10)), before))
    assert (finding.code, finding.figures["new"]) == ("clients-timed-out", 0)


def test_who_holds_back_a_publisher_is_named():
    seen = driver(streams=[HELD], logs={10: log()})
    held = next(f for f in examine(case(seen, seen)) if f.code == "publisher-blocked")
    assert "subscription 20 of client 2 'reader' does not read" in held.what
    assert "slow subscriber" in held.reason
    assert held.figures["position"] == 32_768

    far = driver(streams=[sent_stream(64_000, 64_000, 32_000, 32_000)])
    held = next(f for f in examine(case(far, far)) if f.code == "publisher-blocked")
    assert "flow control" in held.what
    assert "aerolog doctor" in held.remedy

    sender = driver(streams=[sent_stream(64_000, 64_000, 32_000, 90_000)])
    held = next(f for f in examine(case(sender, sender)) if f.code == "publisher-blocked")
    assert "the sender has not sent" in held.what


def test_a_recorder_that_stands_is_named_by_its_recording():
    stream = ipc_stream(32_768, 32_768, 0)
    stream.subscribers[0].recording_id = 12
    seen = driver(streams=[stream], logs={10: log()})
    stopped = next(f for f in examine(case(seen, seen)) if f.code == "subscriber-stopped")
    assert "recording 12" in stopped.what
    assert stopped.figures["lag"] == 32_768


def test_missing_segments_are_counted_and_their_positions_named():
    missing = recording(segment(0), segment(TERM), segment(5 * TERM), stop_position=7 * TERM + 64)
    (finding,) = examine(case(archive(missing)))
    assert finding.subject == "recording 0"
    assert finding.figures == {
        "count": 5,
        "expected": 8,
        "file": f"0-{2 * TERM}.rec",
        "first": 2 * TERM,
        "last": 5 * TERM,
    }


def test_positions_of_impossible_length_cost_no_time():
    (finding,) = examine(case(archive(recording(segment(0), stop_position=TERM << 31))))
    assert finding.figures["count"] == (1 << 31) - 1


def test_loss_that_grows_says_by_how_much():
    more = replace(LOSS, total_bytes_lost=10_000, last_observation_ms=NOW_MS)
    seen = case(driver(RECEIVING, losses=[more]), driver(RECEIVING, losses=[LOSS]))
    (finding,) = examine(seen)
    assert finding.code == "loss-network"
    assert finding.figures["new_bytes"] == 10_000 - 4_096


def test_socket_drops_of_the_past_are_a_notice():
    seen = driver(RECEIVING, sockets=[Socket(20121, 17, 0, 99)])
    (finding,) = examine(case(seen, seen))
    assert (finding.code, finding.severity) == ("loss-socket-full", Severity.NOTICE)


def test_errors_are_shown_newest_first_without_their_stack():
    found = [one for one in examine(EXAMPLES[-3][2]) if one.code == "error-logged"]
    assert found[0].what.endswith("ago: io.aeron.X: ERROR - no room")


def test_a_mark_file_of_an_ended_archive_leaves_its_driver_alone():
    ended = archive(mark=marked(activity_ms=-1, aeron_dir="/dev/shm/gone"))
    assert codes(case(ended)) == ["archive-closed"]


def test_counts_that_grow_are_told_with_their_growth():
    (finding,) = examine(grown(14, 2, 5))
    assert finding.figures == {"count": 5, "new": 3}
