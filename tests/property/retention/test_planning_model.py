"""Plans of any recordings, readers and policies, held against a model that looks at each segment.

The model knows for each segment when its last byte was written, who reads it, and who holds it. A
plan may take nothing that the model keeps, and where only ages count it takes all that is old.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from retention_facts import NOW_MS, SEGMENT, facts, recording

from aerolog.archive.retention.facts import Need, sorted_bases
from aerolog.archive.retention.plan import RECORDING
from aerolog.archive.retention.planner import plan
from aerolog.archive.retention.policies import Policy, Space, StreamRange
from aerolog.transport.time_units import NS_PER_MS

THOROUGH = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
hours = st.integers(1, 40 * 24)
streams = st.integers(0, 3)


@st.composite
def recordings(draw, recording_id):
    start_hours = draw(hours)
    length_hours = draw(st.integers(0, start_hours))
    start = draw(st.integers(0, 3 * SEGMENT // 32)) * 32
    segments = draw(st.integers(0, 12 * SEGMENT // 32)) * 32 / SEGMENT
    one = recording(
        recording_id,
        segments=segments,
        start=start,
        start_ms=NOW_MS - start_hours * 3_600_000,
        end_ms=NOW_MS - (start_hours - length_hours) * 3_600_000,
        active=draw(st.booleans()),
        steady=draw(st.booleans()),
        stream_id=draw(streams),
        labels={"tier": draw(st.sampled_from(["hot", "cold"]))},
    )
    gone = draw(st.sets(st.sampled_from([*one.segments, -1])))
    return replace(one, segments=sorted_bases([b for b in one.segments if b not in gone]))


@st.composite
def needs(draw, count):
    kind = draw(st.sampled_from(["replay", "replication", "export", "pipeline", "hold"]))
    position = 0 if kind == "hold" else draw(st.integers(0, 15 * SEGMENT // 32)) * 32
    reads_on = kind == "pipeline"
    return Need(draw(st.integers(0, max(count, 1))), position, kind, kind, reads_on=reads_on)


@st.composite
def policies(draw, number):
    kept = draw(st.integers(0, 9)) == 0
    chooser = draw(st.sampled_from(["stream", "label", "channel", "everything"]))
    first = draw(streams)
    max_age = draw(st.none() | hours)
    min_age = draw(st.none() | hours)
    if max_age is not None and min_age is not None and max_age < min_age:
        min_age = None
    sizes = st.none() | st.integers(1, 20 * SEGMENT)
    free = draw(st.none() | st.integers(1, 30 * SEGMENT))
    count = draw(st.none() | st.integers(1, 3))
    hour_ns = 3_600_000 * NS_PER_MS
    return Policy(
        name=f"p{number}",
        streams=(StreamRange(first, first + 1),) if chooser == "stream" else (),
        labels={"tier": "hot"} if chooser == "label" else {},
        channels=("aeron:*",) if chooser == "channel" else (),
        everything=chooser == "everything",
        keep=kept,
        max_age_ns=None if kept or max_age is None else max_age * hour_ns,
        min_age_ns=None if kept or min_age is None else min_age * hour_ns,
        max_size=None if kept else draw(sizes),
        max_stream_size=None if kept else draw(sizes),
        max_total_size=None if kept else draw(sizes),
        max_count=None if kept else count,
        free_low=None if kept or free is None else Space(free),
        free_high=None if kept or free is None else Space(free + SEGMENT),
        whole_recordings=count is not None or draw(st.booleans()),
    )


@st.composite
def worlds(draw):
    count = draw(st.integers(0, 5))
    some = [draw(recordings(number)) for number in range(count)]
    readers = draw(st.lists(needs(count), max_size=4))
    rules = [draw(policies(number)) for number in range(draw(st.integers(1, 3)))]
    usable = draw(st.integers(0, 40 * SEGMENT))
    world = facts(*some, needs=tuple(readers), usable_bytes=usable, total_bytes=100 * SEGMENT)
    return world, rules


def gone_bases(one, step):
    """Where the segments begin that a step removes, as far as there are any."""
    limit = max([one.end_position + SEGMENT, *one.segments]) + SEGMENT
    last = limit if step.kind == RECORDING else step.new_start_position
    return range(one.first_base, last, SEGMENT)


def end_time_ms(one, base):
    """When the last byte of a segment was written, at the earliest that anybody can tell."""
    end = min(base + SEGMENT, one.end_position)
    if base >= one.end_position:
        return NOW_MS if one.stop_ms is None else one.stop_ms
    return one.timeline.time_at(max(end - 32, one.start_position)) // NS_PER_MS


@THOROUGH
@given(worlds())
def test_nothing_goes_that_anybody_keeps(world) -> None:
    known, rules = world
    found = plan(known, rules, NOW_MS)
    by_id = {one.recording_id: one for one in known.recordings}
    assert len({step.recording_id for step in found.steps}) == len(found.steps)
    for step in found.steps:
        one = by_id[step.recording_id]
        its = [rule for rule in rules if rule.matches(one)]
        assert step.policy in {rule.name for rule in its}
        assert not any(rule.keep for rule in its)
        whole = step.kind == RECORDING
        if whole:
            assert not one.is_active
            assert any(rule.whole_recordings for rule in its)
        else:
            assert one.first_base < step.new_start_position <= one.last_base
            assert (step.new_start_position - one.first_base) % SEGMENT == 0
        for need in known.needs:
            if need.recording_id == one.recording_id:
                if need.kind == "pipeline" and not one.is_active:
                    assert not whole or need.position >= one.end_position
                    if need.position >= one.end_position:
                        continue
                assert not whole
                assert step.new_start_position <= max(need.position, one.first_base)
                assert need.kind != "hold"
        gone = gone_bases(one, step)
        there = [base for base in one.segments if base in gone]
        assert (step.files, step.bytes) == (len(there), len(there) * SEGMENT)
        for rule in its:
            if rule.min_age_ns is not None:
                youngest = NOW_MS - rule.min_age_ns // NS_PER_MS
                assert all(
                    end_time_ms(one, base) <= youngest for base in gone if base < one.end_position
                )


@THOROUGH
@given(worlds())
def test_what_a_plan_does_leaves_nothing_for_the_next(world) -> None:
    known, rules = world
    # Room is measured, not counted: what it lets go depends on what else there is.
    rules = [replace(rule, free_low=None, free_high=None) for rule in rules]
    found = plan(known, rules, NOW_MS)
    steps = {step.recording_id: step for step in found.steps}
    left = []
    for one in known.recordings:
        step = steps.get(one.recording_id)
        if step is None:
            left.append(one)
        elif step.kind != RECORDING:
            start = step.new_start_position
            segments = sorted_bases([base for base in one.segments if base >= start])
            left.append(replace(one, start_position=start, segments=segments))
    again = plan(replace(known, recordings=tuple(left)), rules, NOW_MS)
    assert again.steps == ()


@THOROUGH
@given(worlds(), hours)
def test_what_is_old_goes_where_nobody_keeps_it(world, age) -> None:
    known, _ = world
    age_ms = age * 3_600_000
    rule = Policy(name="age", everything=True, max_age_ns=age_ms * NS_PER_MS)
    found = plan(replace(known, needs=()), [rule], NOW_MS)
    steps = {step.recording_id: step for step in found.steps}
    for one in known.recordings:
        step = steps.get(one.recording_id)
        gone = set() if step is None else set(gone_bases(one, step))
        for base in gone:
            if base < one.end_position:
                assert end_time_ms(one, base) <= NOW_MS - age_ms
        over = one.stop_ms is not None and one.stop_ms < NOW_MS - age_ms
        assert (step is not None and step.kind == RECORDING) == over
        if not over:
            limit = one.base_of(one.timeline.position_at((NOW_MS - age_ms) * NS_PER_MS))
            assert gone == set(range(one.first_base, limit, SEGMENT))


@THOROUGH
@given(worlds(), st.integers(1, 30 * SEGMENT))
def test_a_total_size_is_kept_and_no_segment_more_goes(world, size) -> None:
    known, _ = world
    some = [
        replace(one, stop_ms=one.stop_ms or NOW_MS, is_active=False) for one in known.recordings
    ]
    rule = Policy(name="size", everything=True, max_total_size=size)
    found = plan(replace(known, recordings=tuple(some), needs=()), [rule], NOW_MS)
    total = sum(one.size_bytes for one in some)
    left = total - found.bytes
    assert left <= size
    last = max((one.segment_length * 3 for one in some), default=0)
    assert found.bytes == 0 or left + last > size
    assert found.bytes == 0 or total > size
