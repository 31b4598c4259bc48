"""node-state.dat: layout, the candidate term, damage (spec cluster 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerolog.cluster.files import CandidateTerm, NodeStateFile
from aerolog.testing import FakeFileSystem
from aerolog.transport.errors import FileFormatError

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = CandidateTerm(-1, -1, -1)


def test_a_new_file_has_the_layout_of_the_spec(tmp_path: Path) -> None:
    assert NodeStateFile(tmp_path, create=True).candidate_term == NOTHING
    data = (tmp_path / "node-state.dat").read_bytes()
    assert len(data) == 1024 * 1024
    assert data[:24].hex() == "00030000000000001800" + "2d01" + "7000" + "0a00" + "2800000000000000"
    assert data[24:48] == b"\xff" * 24
    assert data[48:64].hex() == "00003001" + "7000" + "0a00" + "1000000000000000"
    assert not any(data[64:])


def test_a_term_is_kept(tmp_path: Path) -> None:
    NodeStateFile(tmp_path, create=True).update(CandidateTerm(3, 44, 55))
    assert NodeStateFile(tmp_path).candidate_term == CandidateTerm(3, 44, 55)
    assert NodeStateFile(tmp_path, create=True).candidate_term == CandidateTerm(3, 44, 55)


def test_only_a_higher_term_is_taken(tmp_path: Path) -> None:
    state = NodeStateFile(tmp_path, create=True)
    assert state.propose_max(CandidateTerm(4, 1, 2)) == 4
    assert state.propose_max(CandidateTerm(4, 9, 9)) == 4
    assert state.propose_max(CandidateTerm(3, 9, 9)) == 4
    assert state.candidate_term == CandidateTerm(4, 1, 2)
    assert state.propose_max(CandidateTerm(5, 6, 7)) == 5


def test_a_missing_file_is_created_only_when_asked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        NodeStateFile(tmp_path)


def test_a_creation_that_was_cut_off_is_completed(tmp_path: Path) -> None:
    (tmp_path / "node-state.dat").write_bytes(bytes(1024 * 1024))
    with pytest.raises(FileFormatError, match="not"):
        NodeStateFile(tmp_path)
    assert NodeStateFile(tmp_path, create=True).candidate_term == NOTHING


@pytest.mark.parametrize(
    ("offset", "data", "message"),
    [
        (0, b"\0\0\1\0", "unknown version"),
        (12, b"\x6f\0", "at offset 8: a message of schema 111"),
        (16, b"\0\0\0\0", "at offset 8: a message of 0 bytes"),
        (16, b"\xff\xff\xff\xff", "at offset 8: a message of -1 bytes"),
        (16, b"\0\0\0\x7f", "at offset 8: a message of"),
        (16, b"\x20\0\0\0", "at offset 8: a candidate term"),
        (8, b"\x08\0", "at offset 8: a candidate term of 8 bytes"),
        (10, b"\x30\x01", "no candidate term"),
    ],
)
def test_damage_is_named_with_its_offset(
    tmp_path: Path, offset: int, data: bytes, message: str
) -> None:
    NodeStateFile(tmp_path, create=True)
    with (tmp_path / "node-state.dat").open("r+b") as file:
        file.seek(offset)
        file.write(data)
    with pytest.raises(FileFormatError, match=message):
        NodeStateFile(tmp_path, create=True)


@given(st.binary(min_size=24, max_size=200))
def test_any_bytes_are_a_state_or_a_typed_error(data: bytes) -> None:
    files = FakeFileSystem()
    files.make_dirs("/c")
    for content in (data, b"\0\3\0\0\0\0\0\0" + data):
        files.write_bytes("/c/node-state.dat", content)
        try:
            state = NodeStateFile("/c", files=files)
        except FileFormatError:
            continue
        assert len(state.candidate_term) == 3
