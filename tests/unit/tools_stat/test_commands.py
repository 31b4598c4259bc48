"""The commands' forms, their usage errors, and files that cannot be looked at."""

import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.tools.terminal.terminal_text import fit

from .made_up import MadeUpDriver

COMMANDS = ("stat", "errors", "loss", "streams", "backlog", "driver-tool")
WATCHING = COMMANDS[:-1]
DEADLINE_S = 60


def digest(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}


@pytest.fixture
def busy(driver: MadeUpDriver) -> MadeUpDriver:
    driver.client(1, "pricing")
    driver.ipc(position=32_800, limit=32_768, readers={3: 0, 4: 32_800})
    driver.sent(position=900, limit=32_768, sent=900, allowed=33_000)
    driver.received(hwm=900, position=900, readers={5: 900})
    driver.error_log.record("it broke\n\tat a.b(c:1)\n")
    driver.losses.create_entry(64, 1_700_000_000_000, 7, 1001, "aeron:udp?endpoint=a:1", "b:2")
    return driver


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", [(), ("--json",), ("--classic",)])
def test_every_form_of_every_command_leaves_the_files_alone(aerolog, busy, command, form) -> None:
    before = digest(busy.folder)
    words = ("watch=false",) if command == "stat" and form == ("--classic",) else ()

    ran = aerolog(command, *words, *form, "--aeron-dir", busy.folder)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out
    assert digest(busy.folder) == before


def test_counters_for_people(aerolog, busy) -> None:
    out = aerolog("stat", "--aeron-dir", busy.folder, "--type", "^12$").out

    heading, columns, *rows = out.splitlines()
    assert f"driver pid {os.getpid()}" in heading
    assert "alive" in heading
    assert columns.split() == ["id", "value", "label"]
    assert [" ".join(row.split()) for row in rows] == [
        "3 32,800 pub-pos (concurrent): 10 7 1001 aeron:ipc",
        "7 900 pub-pos (exclusive): 20 7 1001 aeron:udp?endpoint=localhost:20121|term-length=64k",
    ]


def test_counters_for_programs(aerolog, busy) -> None:
    told = json.loads(aerolog("stat", "--json", "--aeron-dir", busy.folder, "type=^4$").out)

    assert told["pid"] == os.getpid()
    assert told["alive"] is True
    assert told["counters"][0] == {
        "id": 5,
        "type_id": 4,
        "value": 0,
        "label": "sub-pos: 3 7 1001 aeron:ipc @0",
        "registration_id": 3,
        "owner_id": 1,
        "reference_id": 10,
        "key": told["counters"][0]["key"],
        "session_id": 7,
        "stream_id": 1001,
        "channel": "aeron:ipc",
    }


def test_counters_of_clusters_name_their_values(aerolog, driver) -> None:
    for type_id, label, value in (
        (201, "Cluster node role - clusterId=9", 2),
        (207, "Cluster election state - clusterId=9", 99),
    ):
        driver.counters.allocate(type_id, label, (9).to_bytes(4, "little"), value=value)
    key = struct.pack("<ii", 9, 1)
    driver.counters.allocate(
        ClusterCounterType.SERVICE_ERRORS, "Cluster Container Errors - clusterId=9 serviceId=1", key
    )
    wanted = ("--type", "^2", "--aeron-dir", driver.folder)

    rows = [row.split("  ")[-1] for row in aerolog("stat", *wanted).out.splitlines()[2:]]
    assert rows == [
        "Cluster node role - clusterId=9 [LEADER]",
        "Cluster election state - clusterId=9",
        "Cluster Container Errors - clusterId=9 serviceId=1",
    ]

    told = json.loads(aerolog("stat", "--json", *wanted).out)["counters"]
    names = ("cluster_id", "service_id", "value_name")
    assert [{name: one[name] for name in names if name in one} for one in told] == [
        {"cluster_id": 9, "value_name": "LEADER"},
        {"cluster_id": 9},
        {"cluster_id": 9, "service_id": 1},
    ]
    classic = aerolog("stat", "watch=false", "--classic", "--aeron-dir", driver.folder).out
    assert "[LEADER]" not in classic


def test_streams_say_what_limits_them(aerolog, busy) -> None:
    out = aerolog("streams", "--sample", "0", "--aeron-dir", busy.folder).out

    assert "limited by slow subscriber: subscription 3 of client 1 'pricing'" in out
    assert "limit: nothing" in out
    told = json.loads(
        aerolog("streams", "--json", "--sample", "1ms", "--aeron-dir", busy.folder).out
    )
    assert [s["limited_by"]["kind"] for s in told["streams"]] == ["slow subscriber", "nothing"]
    assert told["interval_s"] > 0
    assert told["streams"][0]["bytes_per_second"] == 0


def test_backlogs_come_longest_first(aerolog, busy) -> None:
    told = json.loads(aerolog("backlog", "--json", "--aeron-dir", busy.folder).out)

    assert [(b["who"], b["id"], b["backlog"]) for b in told["backlogs"][:1]] == [
        ("subscriber", 3, 32_800)
    ]
    few = aerolog("backlog", "--at-least", "1", "--aeron-dir", busy.folder).out.splitlines()
    assert len(few) == 3


def test_losses_come_largest_first(aerolog, busy) -> None:
    busy.losses.create_entry(128, 1_700_000_000_000, 8, 1002, "aeron:udp?endpoint=a:3", "b:4")

    told = json.loads(aerolog("loss", "--json", "--aeron-dir", busy.folder).out)
    assert [one["total_bytes_lost"] for one in told["losses"]] == [128, 64]
    out = aerolog("loss", "--stream", "1001", "--aeron-dir", busy.folder).out
    assert "64 bytes lost in 1 streams" in out
    assert "nothing was lost" in aerolog("loss", "--stream", "9", "--aeron-dir", busy.folder).out


def test_errors_come_latest_first(aerolog, busy) -> None:
    told = json.loads(aerolog("errors", "--json", "--aeron-dir", busy.folder).out)
    assert [e["text"] for e in told["errors"]] == ["it broke\n\tat a.b(c:1)\n"]
    out = aerolog("errors", "--aeron-dir", busy.folder).out
    assert "once, last" in out
    assert "  it broke\n      at a.b(c:1)\n" in out
    later = ("errors", "--since", "2100-01-01", "--aeron-dir", busy.folder)
    assert "no errors" in aerolog(*later).out


def test_a_driver_is_described(aerolog, busy) -> None:
    told = json.loads(aerolog("driver-tool", "--json", "--aeron-dir", busy.folder).out)
    assert (told["pid"], told["alive"], told["errors"]) == (os.getpid(), True, 1)
    assert aerolog("driver-tool", "pid", "--aeron-dir", busy.folder).out == f"{os.getpid()}\n"
    busy.beat(age_ms=60_000)
    assert "DEAD" in aerolog("driver-tool", "--aeron-dir", busy.folder).out
    busy.cnc.mark_closed()
    assert "stopped" in aerolog("driver-tool", "--aeron-dir", busy.folder).out


def test_a_driver_is_not_stopped_without_being_asked(aerolog, busy) -> None:
    before = digest(busy.folder)

    asked = aerolog("driver-tool", "terminate", "--aeron-dir", busy.folder)
    shown = aerolog("driver-tool", "terminate", "--dry-run", "--aeron-dir", busy.folder)

    assert asked.code == 2
    assert "--yes" in asked.err
    assert shown.code == 0
    assert "1 clients lose it, with 2 publications" in shown.out
    assert digest(busy.folder) == before


def test_a_driver_that_does_not_stop_is_told(aerolog, busy) -> None:
    ran = aerolog("driver-tool", "terminate", "-y", "--wait", "1ms", "--aeron-dir", busy.folder)

    assert ran.code == 1
    assert "termination.validator" in ran.err
    busy.beat(age_ms=60_000)
    dead = aerolog("driver-tool", "terminate", "-y", "--aeron-dir", busy.folder)
    assert (dead.code, "not alive" in dead.err) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("stat", "--json", "--classic"),
        ("stat", "--watch", "--classic"),
        ("stat", "nonsense"),
        ("stat", "watch=false"),
        ("stat", "type=["),
        ("streams", "--session", "["),
        ("errors", "--offset", "8"),
        ("errors", "--file", "x", "--archive-dir", "y"),
        ("errors", "--classic", "--archive-dir", "y"),
        ("driver-tool", "explode"),
    ],
)
def test_wrong_usage_is_told(aerolog, arguments) -> None:
    ran = aerolog(*arguments)

    assert ran.code == 2
    assert ran.out == ""
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_cannot_be_looked_at_take_one_line(aerolog, tmp_path, command) -> None:
    name = "loss-report.dat" if command == "loss" else "cnc.dat"
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / name).write_bytes(b"" if command == "loss" else b"\xff" * 5000)
    for folder in (tmp_path / "nix", tmp_path, tmp_path / "bad"):
        ran = aerolog(command, "--aeron-dir", folder)

        assert (ran.code, ran.out) == (1, "")
        assert re.fullmatch(rf"aerolog: {re.escape(str(folder))}.*: .*: .+\n", ran.err)


@pytest.mark.parametrize("command", WATCHING)
def test_a_pipe_gets_one_look_after_another(aerolog, busy, command) -> None:
    look = (command, "--updates", "3", "--interval", "1ms", "--aeron-dir", busy.folder)

    looks = aerolog(*look).out.split("\n\n")
    documents = [json.loads(line) for line in aerolog(*look, "--json").out.splitlines()]

    assert len(documents) == 3
    assert "\x1b" not in "".join(looks)
    assert len(looks) > 3


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"]
)
def test_watching_on_a_terminal_repaints_and_ends_cleanly(busy, number, code) -> None:
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-m", "aerolog.tools.main", "stat", "-w", "--interval", "1ms"]
    environ = {**os.environ, "AERON_DIR": str(busy.folder), "COLUMNS": "60", "LINES": "12"}
    child = subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environ)
    os.close(theirs)
    painted = b""
    deadline = time.monotonic() + DEADLINE_S
    while painted.count(b"\x1b[H") < 3:
        assert time.monotonic() < deadline
        painted += os.read(terminal, 65_536)
    child.send_signal(number)
    while chunk := rest(terminal):
        painted += chunk
    _, err = child.communicate(timeout=DEADLINE_S)
    os.close(terminal)

    assert (child.returncode, err) == (code, b"")
    text = painted.decode()
    assert text.count("\x1b[2J") == 1  # what was there is painted over, not wiped each time
    assert text.rstrip().endswith("\x1b[?25h")
    assert "more lines" in text
    plain = re.sub(r"\x1b\[[?0-9]*[a-zA-Z]", "", text)
    assert max(len(line.rstrip("\r")) for line in plain.split("\n")) <= 60


TERMINAL_OF_ITS_OWN = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_watching_on_a_terminal_scrolls_with_keys(busy) -> None:
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-m", "aerolog.tools.main", "stat", "-w", "--interval", "60s"]
    environ = {**os.environ, "AERON_DIR": str(busy.folder), "COLUMNS": "70", "LINES": "8"}
    child = subprocess.Popen(
        [sys.executable, "-c", TERMINAL_OF_ITS_OWN, *command],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environ,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""

    def place() -> tuple[int, int, int]:
        nonlocal shown
        while (found := re.search(rb"(\d+)-(\d+) of (\d+): up, down", shown)) is None:
            shown += os.read(terminal, 65_536)
        shown = shown[found.end() :]
        first, last, total = map(int, found.groups())
        return first, last, total

    first, last, total = place()
    assert (first, last) == (1, 6)
    for key, where in (
        (b"\x1b[B", (2, 7)),
        (b"\x1b[A", (1, 6)),
        (b" ", (7, 12)),
        (b"\x1b[5~", (1, 6)),
        (b"G", (total - 5, total)),
        (b"j", (total - 5, total)),
        (b"\x1b[H", (1, 6)),
    ):
        os.write(terminal, key)
        assert place() == (*where, total)
    os.write(terminal, b"q")
    while rest(terminal):
        pass
    _, err = child.communicate(timeout=DEADLINE_S)
    os.close(terminal)
    assert (child.returncode, err) == (0, b"")


def rest(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other end is closed
        return b""


def test_a_label_cannot_steer_the_terminal(aerolog, driver) -> None:
    driver.counters.allocate(1000, "a\x1b[2Jb\nc\x7f", b"")

    out = aerolog("stat", "--aeron-dir", driver.folder, "type=1000").out

    assert r"a\x1b[2Jb\nc\x7f" in out
    assert fit("as it is") == "as it is"


def test_a_new_driver_is_found_while_watching(driver, tmp_path) -> None:
    from aerolog.tools.stat.watched_driver import WatchedDriver

    watched = WatchedDriver(str(driver.folder))
    first = watched.refresh()
    assert watched.refresh() is first
    driver.folder.rename(tmp_path / "old")

    assert watched.refresh() is first
    assert "removed" in watched.heading(first.counters())
    MadeUpDriver(driver.folder)
    assert watched.refresh() is not first
    assert "alive" in watched.heading(watched.view.counters())
