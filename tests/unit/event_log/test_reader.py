"""From records to lines: their form, where they go, what is told when they cannot be written."""

import io
import re
import threading
import time

import pytest

from aerolog.transport.concurrent.clock import ManualClock, SystemClock
from aerolog.transport.events.event_codes import full_code
from aerolog.transport.events.event_reader import HeldLog, LineWriter, time_text

LENGTH = 64 * 1024
STARTED = re.compile(r"\[\d+\.\d{9}\] log started \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d{4}\n")


def dissect(event, data):
    return f"EVENT_{event}", data.decode()


def held(filename, component=0, name="DRIVER"):
    return HeldLog(
        str(filename), LENGTH, SystemClock(), component=component, name=name, dissect=dissect
    )


def readers():
    return [t for t in threading.enumerate() if t.name == "event-log-reader"]


class Broken(io.StringIO):
    """An output like a pipe whose reader is gone."""

    def write(self, text):
        raise BrokenPipeError(32, "Broken pipe")


def test_a_line_has_time_component_name_lengths_and_text():
    output = io.StringIO()
    writer = LineWriter(output, {1: ("ARCHIVE", dissect)})

    writer.event(full_code(1, 40), 50_121_886_332_597, 9, b"kept")

    assert output.getvalue() == "[50121.886332597] ARCHIVE: EVENT_40 [4/9]: kept\n"


def test_what_clients_wrote_stays_in_its_line():
    output = io.StringIO()

    LineWriter(output, {0: ("DRIVER", dissect)}).event(3, 0, 4, b"a\nb\x1b")

    assert output.getvalue() == "[0.000000000] DRIVER: EVENT_3 [4/4]: a\\x0ab\\x1b\n"


def test_times_have_nine_decimals():
    assert time_text(1_000_000_005) == "1.000000005"


def test_what_was_lost_is_told():
    output = io.StringIO()

    LineWriter(output, {}).lost(2_000_000_000, 3)

    assert output.getvalue() == "[2.000000000] 3 events lost: the event buffer was full\n"


def test_an_output_that_fails_is_told_of_once_and_given_up(capsys):
    writer = LineWriter(Broken(), {0: ("DRIVER", dissect)})

    writer.event(1, 0, 0, b"")
    writer.event(1, 0, 0, b"")

    assert capsys.readouterr().err == (
        "WARNING: events are logged no more: [Errno 32] Broken pipe\n"
    )


def test_a_file_begins_with_the_time_of_day_and_is_appended_to(tmp_path):
    path = tmp_path / "events.log"
    for text in (b"one", b"two"):
        holder = held(path)
        holder.log.write(full_code(0, 3), text)
        holder.close()

    lines = path.read_text().splitlines(keepends=True)
    assert [bool(STARTED.fullmatch(line)) for line in lines] == [True, False, True, False]
    assert [line.partition("] ")[2] for line in lines[1::2]] == [
        "DRIVER: EVENT_3 [3/3]: one\n",
        "DRIVER: EVENT_3 [3/3]: two\n",
    ]


def test_who_logs_to_the_same_file_shares_one_log_and_one_thread(tmp_path):
    path = tmp_path / "events.log"
    driver, archive = held(path), held(path, 1, "ARCHIVE")
    assert driver.log is archive.log
    assert len(readers()) == 1

    driver.log.write(full_code(0, 1), b"a")
    archive.log.write(full_code(1, 2), b"b")
    driver.close()
    driver.close()
    archive.log.write(full_code(1, 2), b"c")
    archive.close()

    assert [line.partition("] ")[2] for line in path.read_text().splitlines()[1:]] == [
        "DRIVER: EVENT_1 [1/1]: a",
        "ARCHIVE: EVENT_2 [1/1]: b",
        "ARCHIVE: EVENT_2 [1/1]: c",
    ]
    assert readers() == []


def test_without_a_file_lines_go_to_standard_output(capsys):
    holder = HeldLog(
        "", LENGTH, ManualClock(nano_time=7), component=0, name="DRIVER", dissect=dissect
    )
    holder.log.write(full_code(0, 4), b"text")
    holder.close()

    started, line = capsys.readouterr().out.splitlines(keepends=True)
    assert STARTED.fullmatch(started)
    assert line == "[0.000000007] DRIVER: EVENT_4 [4/4]: text\n"


def test_lines_come_while_the_log_is_open(tmp_path):
    path = tmp_path / "events.log"
    holder = held(path)
    holder.log.write(full_code(0, 4), b"now")

    deadline = time.monotonic() + 30
    while "now" not in path.read_text():
        assert time.monotonic() < deadline, "no line"
        time.sleep(0.001)
    holder.close()


def test_a_file_that_cannot_be_opened_is_an_error_and_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="missing"):
        held(tmp_path / "missing" / "events.log")

    assert readers() == []


@pytest.mark.parametrize("kind", [KeyError, SystemExit])
def test_what_a_line_raises_is_told_of_and_the_ring_is_emptied_all_the_same(tmp_path, kind, capsys):
    def broken(_event, _data):
        raise kind("no such event")

    holder = HeldLog(
        str(tmp_path / "events.log"),
        LENGTH,
        SystemClock(),
        component=0,
        name="DRIVER",
        dissect=broken,
    )
    for _ in range(3):
        holder.log.write(full_code(0, 4), b"text")
    holder.close()

    assert readers() == []
    told = capsys.readouterr().err
    assert told.count("WARNING: events are logged no more") == 1
    assert "no such event" in told
