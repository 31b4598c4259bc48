"""Plans: what goes, what is kept back, and with which words."""

from __future__ import annotations

import dataclasses

import pytest
from retention_facts import DAY_MS, NOW_MS, SEGMENT, facts, recording

from aerolog.archive.retention.facts import Need
from aerolog.archive.retention.plan import RECORDING, SEGMENTS
from aerolog.archive.retention.planner import plan
from aerolog.archive.retention.policy_file import parse_policies


def planned(text, *recordings, **fields):
    policies = parse_policies(text)
    return plan(facts(*recordings, **fields), policies, NOW_MS)


def cuts(found):
    return {
        step.recording_id: "all" if step.kind == RECORDING else step.new_start_position // SEGMENT
        for step in found.steps
    }


AGE = "[[policy]]\nstream = '0-99'\nmax_age = '{}'\n"


@pytest.mark.parametrize(
    ("age", "expected"),
    [("11d", {}), ("9d", {0: 1}), ("8d", {0: 2}), ("7d", {0: 3}), ("5d", {0: "all"})],
)
def test_whole_segments_go_that_are_old(age, expected) -> None:
    assert cuts(planned(AGE.format(age), recording())) == expected


def test_a_segment_stays_with_its_youngest_frame() -> None:
    # A day a segment: 9d 1ms ago is a little before the end of the first one.
    one = recording(end_ms=NOW_MS - 6 * DAY_MS)
    policies = parse_policies(f"[[policy]]\nstream = 10\nmax_age = '{9 * 86400 * 1000 + 1}ms'")
    assert plan(facts(one), policies, NOW_MS).steps == ()


def test_without_an_index_a_recording_is_as_young_as_its_end() -> None:
    assert cuts(planned(AGE.format("7d"), recording(steady=False))) == {}
    assert cuts(planned(AGE.format("5d"), recording(steady=False))) == {0: "all"}
    assert cuts(planned(AGE.format("1d"), recording(steady=False, active=True))) == {}


def test_an_active_recording_keeps_the_segment_that_is_written() -> None:
    one = recording(active=True, segments=3.5)
    assert cuts(planned(AGE.format("1d"), one)) == {0: 3}


def test_a_recording_that_may_not_go_whole_keeps_its_last_segment() -> None:
    text = AGE.format("1d") + "whole_recordings = false"
    assert cuts(planned(text, recording(segments=3.5))) == {0: 3}


def test_an_empty_recording_goes_by_its_stop_time() -> None:
    assert cuts(planned(AGE.format("5d"), recording(segments=0))) == {0: "all"}
    assert cuts(planned(AGE.format("7d"), recording(segments=0))) == {}


def test_a_start_within_a_segment_counts_from_its_term() -> None:
    one = recording(start=SEGMENT + 4096, segments=3)
    (step,) = planned(AGE.format("8d"), one).steps
    assert (step.kind, step.new_start_position % SEGMENT) == (SEGMENTS, 0)
    assert step.files == step.new_start_position // SEGMENT - 1


@pytest.mark.parametrize(("size", "expected"), [("256k", {}), ("255k", {0: 1}), ("1", {0: 3})])
def test_a_recording_is_cut_to_a_size_and_keeps_its_last_segment(size, expected) -> None:
    text = f"[[policy]]\nstream = 10\nmax_size = '{size}'"
    assert cuts(planned(text, recording(segments=3.5))) == expected


def test_files_that_are_gone_do_not_count() -> None:
    text = "[[policy]]\nstream = 10\nmax_size = '192k'"
    found = planned(text, recording(missing=[SEGMENT]))
    assert found.steps == ()
    assert "1 segment file is missing, at 65536: removed by hand?" in found.warnings[0]
    found = planned("[[policy]]\nstream = 10\nmax_size = '128k'", recording(missing=[0]))
    (step,) = found.steps
    assert (step.new_start_position, step.files, step.bytes) == (2 * SEGMENT, 1, SEGMENT)


def test_the_oldest_of_a_stream_goes_first() -> None:
    old = recording(1, start_ms=NOW_MS - 30 * DAY_MS, end_ms=NOW_MS - 20 * DAY_MS)
    new = recording(2)
    other = recording(3, stream_id=11)
    text = "[[policy]]\nstream = '0-99'\nmax_stream_size = '{}'"
    assert cuts(planned(text.format("448k"), old, new, other)) == {1: 1}
    assert cuts(planned(text.format("256k"), old, new, other)) == {1: "all"}
    assert cuts(planned(text.format("192k"), old, new, other)) == {1: "all", 2: 1, 3: 1}


def test_segments_of_several_recordings_go_by_their_age() -> None:
    # Both at the same time: they lose segments by turns.
    text = "[[policy]]\nstream = '0-99'\nmax_total_size = '384k'"
    assert cuts(planned(text, recording(1), recording(2, stream_id=11))) == {1: 1, 2: 1}


def test_the_newest_recordings_of_a_stream_stay() -> None:
    text = "[[policy]]\nstream = '0-99'\nmax_count = 2"
    some = [recording(one, start_ms=NOW_MS - (20 - one) * DAY_MS) for one in range(4)]
    assert cuts(planned(text, *some, recording(9, stream_id=11))) == {0: "all", 1: "all"}
    some[0] = recording(0, start_ms=NOW_MS - 20 * DAY_MS, active=True)
    found = planned(text, *some)
    assert cuts(found) == {0: 4, 1: "all"}
    assert [(one.recording_id, one.kind) for one in found.kept] == [(0, "active")]


def test_room_is_made_up_to_the_high_mark() -> None:
    text = "[[policy]]\neverything = true\nfree_low = '10%'\nfree_high = '20%'"
    some = (recording(1, start_ms=NOW_MS - 30 * DAY_MS, end_ms=NOW_MS - 20 * DAY_MS), recording(2))
    total = 20 * SEGMENT
    assert planned(text, *some, usable_bytes=2 * SEGMENT, total_bytes=total).steps == ()
    found = planned(text, *some, usable_bytes=SEGMENT, total_bytes=total)
    assert cuts(found) == {1: 3}
    # What other policies let go counts.
    more = text + "\n[[policy]]\nname = 'age'\nstream = 10\nmax_age = '9d'"
    policies = parse_policies(more.replace("[[policy]]\neverything", "[[policy]]\neverything"))
    assert len(policies) == 2


def test_what_somebody_needs_stays_with_all_behind_it() -> None:
    need = Need(0, 2 * SEGMENT + 32, "replay", "a replay reads it")
    found = planned(AGE.format("1d"), recording(), needs=(need,))
    assert cuts(found) == {0: 2}
    (kept,) = found.kept
    assert (kept.position, kept.kind, kept.reason) == (2 * SEGMENT, "replay", "a replay reads it")


@pytest.mark.parametrize(
    ("active", "read", "gone"),
    [
        (True, 0, {}),
        (True, SEGMENT + 32, {0: 1}),
        (True, 4 * SEGMENT, {0: 4}),  # Everything so far, and the last segment is being written.
        (False, SEGMENT + 32, {0: 1}),
        (False, 4 * SEGMENT, {0: "all"}),
        (False, 5 * SEGMENT, {0: "all"}),
    ],
)
def test_what_was_read_goes_and_what_comes_after_it_stays(
    active: bool, read: int, gone: dict[int, object]
) -> None:
    need = Need(0, read, "pipeline", "a job reads it", reads_on=True)
    old = recording(active=active, steady=active)
    found = planned(AGE.format("1d"), old, needs=(need,))
    assert cuts(found) == gone
    whole = dataclasses.replace(need, reads_on=False)
    assert "all" not in cuts(planned(AGE.format("1d"), old, needs=(whole,))).values()


def test_a_held_recording_loses_nothing() -> None:
    for text in (
        AGE.format("1d"),
        "[[policy]]\nstream = 10\nmax_size = '1'",
        "[[policy]]\nstream = 10\nmax_total_size = '1'",
        "[[policy]]\neverything = true\nfree_low = '98%'\nfree_high = '99%'",
    ):
        found = planned(
            text,
            recording(),
            needs=(Need(0, 0, "hold", "held: audit"),),
            usable_bytes=0,
            total_bytes=100 * SEGMENT,
        )
        assert found.steps == ()
        assert [(one.kind, one.reason) for one in found.kept] == [("hold", "held: audit")]


def test_a_policy_that_keeps_wins() -> None:
    text = AGE.format("1d") + "[[policy]]\nname = 'audit'\nlabel = 'audit'\nkeep = true"
    found = planned(text, recording(0, labels={"audit": "y"}), recording(1))
    assert cuts(found) == {1: "all"}
    assert found.kept[0].reason == "policy 'audit' keeps it"


def test_what_is_young_stays_whatever_its_size() -> None:
    text = (
        "[[policy]]\nstream = 10\nmax_size = '64k'\n"
        "[[policy]]\nname = 'young'\nstream = '0-99'\nmin_age = '8d'"
    )
    found = planned(text, recording())
    assert cuts(found) == {0: 2}
    assert found.kept[0].reason == "policy 'young' keeps what is younger than 8d"


def test_policies_that_contradict_each_other_about_a_recording_let_nothing_of_it_go() -> None:
    text = (
        AGE.format("1d")
        + "[[policy]]\nname = 'other'\nchannel = 'aeron:ipc*'\nmin_age = '9d'\nmax_size = '1'"
    )
    found = planned(text, recording(0), recording(1, channel="aeron:udp", stripped_channel=""))
    assert cuts(found) == {1: "all"}
    assert "policies 'policy 1' (max_age) and 'other' (min_age) contradict" in found.warnings[0]
    assert found.kept[0].kind == "contradiction"


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({"start_ms": 0}, "before 2017"),
        ({"start_ms": NOW_MS, "end_ms": NOW_MS - DAY_MS}, "the clock was set back"),
        ({"start_ms": NOW_MS + DAY_MS, "end_ms": NOW_MS + 2 * DAY_MS}, "after now"),
    ],
)
def test_times_that_cannot_be_hold_a_recording_back(times, said) -> None:
    for limit in ("max_age = '1d'", "max_total_size = '1'", "max_stream_size = '1'"):
        text = f"[[policy]]\nstream = '0-99'\n{limit}"
        found = planned(text, recording(**times))
        assert found.steps == ()
        assert said in found.kept[0].reason


def test_nothing_goes_by_a_clock_that_is_not_believed() -> None:
    policies = parse_policies(AGE.format("1d"))
    found = plan(facts(recording()), policies, NOW_MS, held_back="the clock is ahead")
    assert found.steps == ()
    assert found.held_back == "the clock is ahead"


def test_a_plan_that_leaves_nothing_says_so_unless_that_is_meant() -> None:
    assert planned(AGE.format("1d"), recording(0), recording(1)).takes_everything
    assert not planned(AGE.format("1d"), recording(0), recording(1, stream_id=500)).takes_everything
    text = "[[policy]]\neverything = true\nmax_age = '1d'"
    assert not planned(text, recording(0)).takes_everything
    assert not planned(AGE.format("1d")).takes_everything


def test_a_plan_is_told_as_json() -> None:
    row = planned(AGE.format("8d"), recording()).row()
    assert row["files"] == 2
    assert row["bytes"] == 2 * SEGMENT
    assert row["steps"][0]["reason"] == "older than 8d"
    assert row["steps"][0]["policy"] == "policy 1"
