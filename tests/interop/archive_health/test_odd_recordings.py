"""Odd recordings that the reference finds sound: ours does too, and repairs nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from peer.tools import archive_tool

from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import peer

SESSION_AT = 12


class Odd(RecordingBuilder):
    """A recording whose sessions and flags a test chooses."""

    def session(self, messages: int, payload: bytes = b"x" * 100) -> None:
        """Messages of a session of their own, as an extension makes them."""
        self.session_id = self.session_id * 1_103_515_245 % 2**31 | 1
        for _ in range(messages):
            self.add(payload)


def extended_by_single_messages() -> Odd:
    odd = Odd()
    for _ in range(300):
        odd.session(1, b"y" * 1000)
    return odd


def one_message_among_others(index: int) -> Callable[[], Odd]:
    def make() -> Odd:
        odd = Odd()
        odd.session(index)
        odd.session(1)
        odd.session(1200 - index)
        return odd

    return make


def last_message_of_a_segment() -> Odd:
    odd = Odd()
    odd.session(61, b"z" * 1000)
    odd.session(1, b"z" * 1000)
    odd.session(61, b"z" * 1000)
    return odd


def many_extensions() -> Odd:
    odd, chance = Odd(segment_length=128 * 1024), random.Random(7)
    for _ in range(100):
        odd.session(chance.randrange(1, 9), bytes(chance.randrange(1, 2000)))
    return odd


def padding_only() -> Odd:
    odd = Odd()
    for _ in range(3):
        odd.pad()
    return odd


def single_frame() -> Odd:
    odd = Odd()
    odd.add(b"")
    return odd


def empty_messages() -> Odd:
    odd = Odd()
    for _ in range(3000):
        odd.session(1, b"")
    return odd


def begun_within_a_term() -> Odd:
    odd = Odd(start_position=64 * 1024 + 4096)
    odd.session(1)
    odd.session(500)
    return odd


def aborted_messages() -> Odd:
    """Claims that were given up, which the recorder keeps as padding within terms."""
    odd = Odd()
    for _ in range(400):
        odd.session(1)
        odd._frame(b"", 0, 0xC0, 0, 64)
    return odd


def fragments_of_a_session_that_broke_off() -> Odd:
    odd = Odd()
    odd.session(10)
    odd._frame(b"begin", 1, 0x80, 0)
    odd.session(10)
    return odd


def migrated_from_another_recording() -> Odd:
    """Segments of another session and other flags in front, as `migrate_segments` leaves them."""
    odd = Odd()
    odd.session(600)
    odd.pad()
    odd.session(3)
    return odd


ODD = {
    "extended by single messages": extended_by_single_messages,
    "one message first": one_message_among_others(0),
    "one message second": one_message_among_others(1),
    "one message in the middle": one_message_among_others(700),
    "one message last": one_message_among_others(1200),
    "last message of a segment": last_message_of_a_segment,
    "many extensions": many_extensions,
    "padding only": padding_only,
    "a single frame": single_frame,
    "empty messages": empty_messages,
    "begun within a term": begun_within_a_term,
    "aborted messages": aborted_messages,
    "a message without an end": fragments_of_a_session_that_broke_off,
    "migrated": migrated_from_another_recording,
}


@pytest.fixture(scope="module")
def folder(reference: peer.Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All odd recordings; the reference finds them sound."""
    folder = tmp_path_factory.mktemp("odd-recordings")
    for make in ODD.values():
        make().write(folder)
    said = archive_tool(folder, "verify", "-a")
    assert said.splitlines() == [f"(recordingId={number}) OK" for number in range(len(ODD))]
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".rec"}


@pytest.mark.parametrize("name", list(ODD))
def test_what_the_reference_finds_sound_is_sound(folder: Path, name: str, capsys) -> None:
    number = list(ODD).index(name)
    before = contents(folder)
    assert main(["verify", str(number), "--archive-dir", str(folder)]) == 0, capsys.readouterr().out
    assert main(["verify", str(number), "--repair", "--yes", "--archive-dir", str(folder)]) == 0
    assert contents(folder) == before


def test_the_whole_folder_is_sound_and_stays_as_it_is(folder: Path) -> None:
    """The whole folder at once, with notes of it, and again by their fingerprints."""
    before = contents(folder)
    assert main(["verify", "--note", "--archive-dir", str(folder)]) == 0
    assert main(["verify", "--repair", "--yes", "--archive-dir", str(folder)]) == 0
    assert contents(folder) == before
    said = archive_tool(folder, "verify", "-a")
    assert said.splitlines() == [f"(recordingId={number}) OK" for number in range(len(ODD))]
