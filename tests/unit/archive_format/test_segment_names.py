"""Names and positions of segments (spec archive-files 1, 2, 6.1)."""

from __future__ import annotations

import pytest

from aerolog.archive.format.segment import (
    SegmentName,
    parse_segment_name,
    recording_id_of,
    segment_base,
    segment_file_name,
    segments_by_recording,
    term_id_at,
)
from aerolog.transport.errors import FileFormatError

K = 1024


@pytest.mark.parametrize(
    ("position", "start", "term", "segment", "base"),
    [
        (0, 0, 64 * K, 64 * K, 0),
        (69632, 69632, 64 * K, 64 * K, 65536),
        (69632, 69632, 64 * K, 128 * K, 65536),
        (65536 + 128 * K - 32, 69632, 64 * K, 128 * K, 65536),
        (65536 + 128 * K, 69632, 64 * K, 128 * K, 65536 + 128 * K),
        (194752, 0, 64 * K, 64 * K, 131072),
    ],
)
def test_segment_base_counts_from_the_base_of_the_first_term(
    position: int, start: int, term: int, segment: int, base: int
) -> None:
    assert segment_base(position, start, term, segment) == base


def test_term_ids_wrap() -> None:
    assert term_id_at(0, -5, 64 * K) == -5
    assert term_id_at(69632, -5, 64 * K) == -4
    assert term_id_at(64 * K, 2**31 - 1, 64 * K) == -(2**31)


def test_a_name_comes_apart_as_it_was_put_together() -> None:
    assert parse_segment_name(segment_file_name(7, 65536)) == SegmentName(7, 65536)
    assert str(SegmentName(7, 65536)) == "7-65536.rec"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("13-.rec", "no position encoded in the segment file: 13-.rec"),
        ("13-abc.rec", "error parsing long: abc"),
        ("13--5.rec", "negative position encoded in the file name: 13--5.rec"),
        ("13-99999999999999999999.rec", "error parsing long: 9999"),
        ("x.rec", "not the name of a segment file"),
        ("13-0.txt", "not the name of a segment file"),
    ],
)
def test_names_that_are_none_are_refused(name: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        parse_segment_name(name)


@pytest.mark.parametrize("name", ["foo-1.rec", "-1.rec", "x.rec", "1-0.rec.del", "archive.catalog"])
def test_other_files_belong_to_no_recording(name: str) -> None:
    assert recording_id_of(name) is None


def test_names_are_grouped_by_recording() -> None:
    names = ["1-0.rec", "11-0.rec", "1-65536.rec", "archive.catalog", "foo-1.rec"]
    assert segments_by_recording(names) == {1: ["1-0.rec", "1-65536.rec"], 11: ["11-0.rec"]}
