"""Lines, records and generated messages."""

import io
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.tools.messages import message_input
from aerolog.transport.errors import ConfigurationError


class Trickle(io.RawIOBase):
    """A source that gives a few bytes at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        self._parts = [data[at : at + step] for at in range(0, len(data), step)]

    def read(self, _size: int = -1) -> bytes:
        return self._parts.pop(0) if self._parts else b""


def trickle(data: bytes, step: int) -> io.BufferedReader:
    return cast("io.BufferedReader", Trickle(data, step))


@given(st.binary(max_size=200), st.integers(1, 50))
def test_lines_are_what_stands_between_line_ends(data: bytes, step: int) -> None:
    lines = [line for batch in message_input.read_lines(trickle(data, step)) for line in batch]

    expected = data.split(b"\n")
    assert lines == (expected[:-1] if not expected[-1] else expected)


def test_a_line_is_given_out_when_it_is_there() -> None:
    batches = message_input.read_lines(trickle(b"one\ntwo\nthr", 8))

    assert next(batches) == [b"one", b"two"]
    assert next(batches) == [b"thr"]


def test_a_line_without_an_end_is_refused() -> None:
    with open("/dev/zero", "rb", buffering=0) as endless:  # noqa: PTH123
        batches = message_input.read_lines(cast("io.BufferedReader", endless))
        with pytest.raises(ConfigurationError, match="longer than 16777216 bytes"):
            next(batches)


@given(st.binary(max_size=200), st.integers(1, 17), st.integers(1, 50))
def test_records_are_cut_at_their_length(data: bytes, length: int, step: int) -> None:
    whole = len(data) - len(data) % length
    records: list[bytes] = []
    source = message_input.read_records(trickle(data, step), length)

    if whole == len(data):
        records = [record for batch in source for record in batch]
    else:
        with pytest.raises(ConfigurationError, match=f"{len(data) - whole} bytes, less than"):
            for batch in source:
                records.extend(batch)

    assert records == [data[at : at + length] for at in range(0, whole, length)]


@pytest.mark.parametrize(
    ("size", "count", "expected"),
    [
        (3, 2, [b"000", b"001"]),
        (1, 12, [b"%d" % (n % 10) for n in range(12)]),
        (25, 1, [b"0" * 25]),
        (8, 0, []),
    ],
)
def test_generated_messages_hold_their_number(size: int, count: int, expected: list[bytes]) -> None:
    assert [m for batch in message_input.generate(size, count) for m in batch] == expected


def test_generated_messages_without_a_count_never_end() -> None:
    source = message_input.generate(8, None)
    seen = 0
    while seen < 2000:
        batch = next(source)
        assert batch[0] == b"%08d" % seen
        seen += len(batch)


def test_the_first_messages_are_taken_and_no_more_is_read() -> None:
    source = iter([[b"a", b"b"], [b"c", b"d"], [b"e"]])

    assert list(message_input.first(source, 3)) == [[b"a", b"b"], [b"c"]]
    assert next(source) == [b"e"]


def test_a_file_is_opened_by_name(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"x\n")

    with message_input.open_input(str(file)) as source:
        assert list(message_input.read_lines(source)) == [[b"x"]]
