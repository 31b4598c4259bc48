"""The loss report (spec cnc-and-commands 7)."""

import struct

import pytest

from aerolog.transport.errors import FileFormatError
from aerolog.transport.memory.loss_report import LossEntry, LossReport, read_loss_report
from aerolog.transport.memory.mapped_file import MappedFile

CHANNEL = "aeron:udp?endpoint=localhost:22200|alias=foo"
SOURCE = "127.0.0.1:59861"


@pytest.fixture
def mapped():
    return MappedFile.anonymous(4096)


@pytest.fixture
def report(mapped):
    return LossReport(mapped, 0, 512)


def test_an_entry_has_the_documented_bytes(mapped, report):
    assert report.create_entry(64, 1000, -7, 4001, CHANNEL, SOURCE) == 0
    entry = bytes(mapped.view(0, 128))
    assert struct.unpack_from("<4q2ii", entry) == (1, 64, 1000, 1000, -7, 4001, 44)
    assert entry[44:88] == CHANNEL.encode()
    assert struct.unpack_from("<i", entry, 88) == (15,)
    assert entry[92:107] == SOURCE.encode()


def test_the_source_starts_at_a_multiple_of_four(mapped, report):
    report.create_entry(1, 1, 1, 1, "abc", "xy")
    assert struct.unpack_from("<i", mapped.view(), 48) == (2,)
    assert bytes(mapped.view(52, 2)) == b"xy"


def test_entries_start_at_multiples_of_64_and_add_up(report):
    first = report.create_entry(10, 1000, 1, 2, CHANNEL, SOURCE)
    second = report.create_entry(20, 1001, 3, 4, "b", "c")
    assert (first, second, report.next_offset) == (0, 128, 192)
    report.record_loss(first, 5, 2000)
    assert report.entries() == [
        LossEntry(2, 15, 1000, 2000, 1, 2, CHANNEL, SOURCE),
        LossEntry(1, 20, 1001, 1001, 3, 4, "b", "c"),
    ]


def test_a_full_report_takes_no_more(report):
    created = [report.create_entry(1, 1, 1, number, CHANNEL, SOURCE) for number in range(5)]
    assert created == [0, 128, 256, 384, None]
    assert len(report.entries()) == 4


@pytest.mark.parametrize("entry", [-64, 1, 128, 2**40])
def test_what_is_no_entry_is_refused(report, entry):
    report.create_entry(1, 1, 1, 1, CHANNEL, SOURCE)
    with pytest.raises(ValueError, match=f"{entry} is no entry"):
        report.record_loss(entry, 1, 1)


@pytest.mark.parametrize("place", [40, 88])
@pytest.mark.parametrize("length", [-1, 2**31 - 1, 500, -(2**31)])
def test_a_length_that_cannot_be_ends_the_report(mapped, report, place, length):
    report.create_entry(1, 1, 1, 1, "first", "source")
    at = report.create_entry(1, 1, 1, 1, CHANNEL, SOURCE)
    mapped.store_i32(at + place, length)
    assert [entry.channel for entry in report.entries()] == ["first"]


def test_an_empty_or_tiny_report_has_no_entries(mapped):
    assert read_loss_report(mapped) == []
    assert read_loss_report(mapped, 4088) == []
    with pytest.raises(FileFormatError):
        read_loss_report(mapped, 4104)
    with pytest.raises(FileFormatError):
        read_loss_report(mapped, 4)
