"""The distinct error log and its texts (spec cnc-and-commands 6, spec stat-tools 3)."""

import errno
import os
import struct
import threading

import pytest

from aerolog.archive.service.reporter import ArchiveEvent
from aerolog.cluster.errors import ClusterEvent
from aerolog.transport.errors import (
    AerologError,
    ArchiveError,
    ChannelUriError,
    ConfigurationError,
    ControlProtocolError,
    CountersFullError,
    DriverTimeoutError,
    ErrorCode,
    FileFormatError,
    StorageSpaceError,
)
from aerolog.transport.memory.error_log import (
    DistinctErrorLog,
    ErrorObservation,
    has_errors,
    read_error_log,
)
from aerolog.transport.memory.error_text import format_error_log, format_exception, format_time
from aerolog.transport.memory.mapped_file import MappedFile, storage_space_error


@pytest.fixture
def mapped():
    return MappedFile.anonymous(4096)


@pytest.fixture
def log(mapped, clock):
    return DistinctErrorLog(mapped, 0, 512, clock)


def failing(message="boom"):
    try:
        raise ValueError(message)
    except ValueError as error:
        return error


def test_a_record_has_the_documented_bytes(mapped, log, clock):
    first_ms = clock.now_epoch_ms()
    log.record("hello")
    clock.advance_ns(5_000_000)
    log.record("hello")
    log.record("next")
    assert bytes(mapped.view(0, 29)) == (
        struct.pack("<iiqq", 29, 2, first_ms + 5, first_ms) + b"hello"
    )
    assert struct.unpack("<ii", mapped.view(32, 8)) == (28, 1)


def test_observations_are_counted_and_dated(log, clock):
    now = clock.now_epoch_ms()
    assert log.record("a")
    clock.advance_ns(10_000_000)
    assert log.record("b")
    assert log.record("a")
    assert log.observations() == [
        ErrorObservation(2, now, now + 10, "a"),
        ErrorObservation(1, now + 10, now + 10, "b"),
    ]


def test_only_errors_seen_since_a_time_are_read(mapped, log, clock):
    log.record("old")
    clock.advance_ns(10_000_000)
    log.record("new")
    since = clock.now_epoch_ms()
    assert [each.text for each in read_error_log(mapped, 0, 512, since)] == ["new"]


def test_an_identity_makes_different_texts_one_error(log):
    log.record("first", identity="same")
    log.record("second", identity="same")
    assert [(each.count, each.text) for each in log.observations()] == [(2, "first")]


def test_equal_exceptions_are_one_error(log):
    for _ in range(3):
        log.record_exception(failing())
    log.record_exception(failing("other"))
    found = log.observations()
    assert [each.count for each in found] == [3, 1]
    assert found[0].text.startswith("builtins.ValueError: boom\n\tat failing(test_error_log.py:")


def test_errors_of_files_are_told_apart_by_their_number(log):
    def fail(code, path):
        try:
            raise OSError(code, os.strerror(code), path)
        except OSError as error:
            return error

    for number in range(3):
        log.record_exception(fail(errno.EMFILE, f"/images/{number}.logbuffer"))
    log.record_exception(fail(errno.ENOSPC, "/images/3.logbuffer"))
    found = log.observations()
    assert [each.count for each in found] == [3, 1]
    assert "/images/0.logbuffer" in found[0].text


def test_full_disks_are_one_error(log):
    for number in range(3):
        try:
            raise storage_space_error(f"/images/{number}.logbuffer", 65536, 100 + number)
        except StorageSpaceError as error:
            log.record_exception(error)
    assert [each.count for each in log.observations()] == [3]


def test_the_cause_of_an_exception_belongs_to_it(log):
    def wrapped(message):
        try:
            raise KeyError("outer") from failing(message)
        except KeyError as error:
            return error

    log.record_exception(wrapped("a"))
    log.record_exception(wrapped("a"))
    log.record_exception(wrapped("b"))
    assert [each.count for each in log.observations()] == [2, 1]
    assert "Caused by: builtins.ValueError: a\n" in log.observations()[0].text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConfigurationError("a"), "java.lang.IllegalArgumentException: a"),
        (
            ChannelUriError("a", reference_type="java.net.UnknownHostException"),
            "java.net.UnknownHostException: a",
        ),
        (
            ControlProtocolError(ErrorCode.INVALID_CHANNEL, "a"),
            "io.aeron.driver.exceptions.InvalidChannelException: ERROR - a",
        ),
        (
            ControlProtocolError(ErrorCode.UNKNOWN_COUNTER, "a"),
            "io.aeron.exceptions.ControlProtocolException: ERROR - a",
        ),
        (DriverTimeoutError("a"), "io.aeron.exceptions.DriverTimeoutException: FATAL - a"),
        (DriverTimeoutError("FATAL - a"), "io.aeron.exceptions.DriverTimeoutException: FATAL - a"),
        (ArchiveError(0, "java.io.IOException : a"), "java.io.IOException: a"),
        (ArchiveEvent("left"), "io.aeron.archive.client.ArchiveEvent: WARN - left"),
        (ClusterEvent("left"), "io.aeron.cluster.client.ClusterEvent: WARN - left"),
        (CountersFullError("a"), "java.lang.IllegalStateException: a"),
        (AerologError("a"), "io.aeron.exceptions.AeronException: ERROR - a"),
        (KeyError("a"), "builtins.KeyError: 'a'"),
    ],
)
def test_an_error_begins_with_the_reference_s_class_and_its_category(error, text):
    assert format_exception(error) == text + "\n"


def test_a_driver_wraps_what_is_wrong_with_a_channel():
    error = ChannelUriError("a", reference_type="java.net.UnknownHostException")
    text = "io.aeron.driver.exceptions.InvalidChannelException: java.net.UnknownHostException: a\n"
    assert format_exception(error, is_driver=True) == text


def test_a_chain_of_causes_that_is_a_ring_ends():
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert format_exception(first).count("Caused by") == 1


def test_text_that_is_not_ascii_is_replaced(log):
    log.record("größe")
    assert log.observations()[0].text == "gr??e"


def test_a_full_log_says_so_on_stderr_and_goes_on_counting(log, capsys):
    assert log.record("x" * 400)
    assert not log.record("y" * 400)
    assert not log.record("z" * 400)
    assert log.record("x" * 400)
    assert log.record("fits")
    told = capsys.readouterr().err
    assert told.count("error log is full, consider increasing length of error buffer") == 1
    assert "y" * 400 in told
    assert "z" * 400 in told
    assert [each.count for each in log.observations()] == [2, 1]


def test_the_last_byte_can_be_used(mapped, clock):
    log = DistinctErrorLog(mapped, 512, 64, clock)
    assert log.record("x" * 40)
    assert not log.record("y")
    assert [each.text for each in log.observations()] == ["x" * 40]
    assert bytes(mapped.view(576, 64)) == bytes(64)


def test_threads_record_without_losing_a_count(log):
    def run():
        for _ in range(500):
            log.record("same")

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.count for each in log.observations()] == [2000]


def test_an_empty_log_has_no_errors(mapped, log):
    assert not has_errors(mapped, 0, 512)
    assert log.observations() == []
    log.record("x")
    assert has_errors(mapped, 0, 512)


@pytest.mark.parametrize("length", [-1, -(2**31), 1, 23])
def test_a_record_length_that_cannot_be_ends_the_log(mapped, log, length):
    log.record("good")
    mapped.store_i32(32, length)
    assert [each.text for each in log.observations()] == ["good"]


def test_a_record_length_past_the_end_is_cut(mapped, log):
    log.record("good")
    mapped.store_i32(0, 2**31 - 1)
    (found,) = log.observations()
    assert found.text.rstrip("\0") == "good"
    assert len(found.text) == 512 - 24


@pytest.mark.parametrize("span", [(4, 64), (4096, 64), (0, 5000)])
def test_a_section_outside_the_file_is_refused(mapped, span):
    with pytest.raises(FileFormatError):
        read_error_log(mapped, *span)


def test_the_saved_form_is_the_references(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    seen = ErrorObservation(3, 1795249021524, 1795249024001, "text\n")
    assert format_error_log([seen]) == (
        "\n3 observations from 2026-11-21 08:17:01.524+0000 to 2026-11-21 08:17:04.001+0000 for:\n"
        "text\n\n\n1 distinct errors observed.\n"
    )


@pytest.mark.parametrize("epoch_ms", [2**63 - 1, -(2**63)])
def test_times_beyond_the_calendar_are_printed_as_numbers(epoch_ms):
    assert format_time(epoch_ms) == f"{epoch_ms}ms"
