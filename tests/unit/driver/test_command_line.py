"""The driver as a process: one line when ready, signals, exit codes, what it leaves behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waits import wait_until

from aerolog.transport.client import Aeron
from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.memory.cnc import HEARTBEAT_CLOSED, CncFile
from aerolog.transport.memory.filesystem import RealFileSystem
from aerolog.transport.protocol import commands as c

DEADLINE_S = 60


class Process:
    """One driver process."""

    def __init__(self, directory, *arguments, env=None, cwd=None):
        command = [sys.executable, "-m", "aerolog.transport.driver", f"-Daeron.dir={directory}"]
        self.directory = str(directory)
        self.popen = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            cwd=cwd,
        )

    def ready(self):
        line = self.popen.stdout.readline()
        assert line, self.popen.stderr.read()
        return line

    def stop(self, number=signal.SIGTERM):
        self.popen.send_signal(number)
        return self.end()

    def end(self):
        try:
            out, err = self.popen.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"it does not end; its threads: {self.threads()}") from late
        return self.popen.returncode, out, err

    def threads(self):
        """Name, state, and ticks of user and system time of each: starved, or blocked?"""
        found = []
        for task in Path(f"/proc/{self.popen.pid}/task").iterdir():
            name, _, fields = (task / "stat").read_text().partition("(")[2].rpartition(") ")
            found.append((name, fields.split()[0], *fields.split()[11:13]))
        return found

    def cnc(self):
        return CncFile.connect(self.directory)


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "aeron"


@pytest.fixture
def run(directory):
    processes = []

    def start(*arguments, **options):
        processes.append(Process(directory, *arguments, **options))
        return processes[-1]

    yield start
    for process in processes:
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.communicate()


@pytest.mark.parametrize("mode", ["DEDICATED", "SHARED_NETWORK", "SHARED"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_exit_code_0_and_one_line(run, directory, mode, number):
    process = run(f"-Daeron.threading.mode={mode}")
    assert process.ready() == f"aerolog driver ready: {directory} ({mode})\n"
    assert process.stop(number) == (0, "", "")
    cnc = CncFile.open(RealFileSystem(), str(directory))
    assert cnc.heartbeat_ms == HEARTBEAT_CLOSED
    assert sorted(p.name for p in directory.iterdir()) == [
        "aerolog-cycles.dat",
        "cnc.dat",
        "images",
        "loss-report.dat",
        "publications",
    ]


def test_the_main_thread_turns_a_driver_in_invoker_mode(run, directory):
    process = run(
        env={
            **os.environ,
            "AERON_THREADING_MODE": "INVOKER",
            "AERON_SHARED_IDLE_STRATEGY": "sleep-ns",
            "AERON_DRIVER_TERMINATION_VALIDATOR": "allow",
        }
    )
    assert process.ready() == f"aerolog driver ready: {directory} (INVOKER)\n"
    assert len(list(Path(f"/proc/{process.popen.pid}/task").iterdir())) == 1
    with Aeron(str(directory)) as aeron:
        subscription = aeron.add_subscription("aeron:ipc?term-length=64k", 7)
        aeron.add_publication("aeron:ipc?term-length=64k", 7).send(b"turned", timeout=DEADLINE_S)
        assert bytes(next(subscription.messages(timeout=DEADLINE_S)).data) == b"turned"
    terminate(process)
    assert process.end() == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_driver_that_the_main_thread_turns(run, number):
    process = run(env={**os.environ, "AERON_THREADING_MODE": "INVOKER"})
    process.ready()
    assert process.stop(number) == (0, "", "")
    cnc = CncFile.open(RealFileSystem(), process.directory)
    assert cnc.heartbeat_ms == HEARTBEAT_CLOSED


def test_settings_that_the_c_driver_takes_are_taken(run):
    """It takes the nearest value in range, and says nothing of it on stderr, as C's does."""
    process = run(
        env={
            **os.environ,
            "AERON_COUNTERS_BUFFER_LENGTH": "100k",
            "AERON_NAK_UNICAST_DELAY": "0",
            "AERON_NAME_RESOLVER_SUPPLIER": "csv_table",
            "AERON_NAME_RESOLVER_INIT_ARGS": "feed,127.0.0.1,127.0.0.2|",
        }
    )
    process.ready()
    assert process.cnc().header.lengths.counter_values == 1 << 20
    code, out, err = process.stop()
    assert (code, out, err) == (0, "", "")


def test_it_starts_with_an_empty_environment_and_by_absolute_path(run, tmp_path):
    process = run(env={}, cwd=tmp_path)
    process.ready()
    assert process.stop()[0] == 0


def processor_seconds(popen):
    """What a process has used when it has ended well."""
    _, status, used = os.wait4(popen.pid, 0)
    popen.returncode = os.waitstatus_to_exitcode(status)
    assert popen.returncode == 0
    return used.ru_utime + used.ru_stime


def test_starting_and_stopping_takes_little_processor_time(run):
    """Beside what an empty program takes on the same machine."""

    def driver():
        process = run()
        process.ready()
        process.popen.terminate()
        return processor_seconds(process.popen)

    def nothing():
        return processor_seconds(subprocess.Popen([sys.executable, "-c", "pass"]))

    assert min(driver() for _ in range(3)) < 30 * min(nothing() for _ in range(3))


def test_it_has_no_sockets_and_no_children_and_a_thread_an_agent(run):
    process = run()
    process.ready()
    proc = Path(f"/proc/{process.popen.pid}")
    links = [str(fd.readlink()) for fd in (proc / "fd").iterdir()]
    assert not [link for link in links if link.startswith("socket:")]
    tasks = list((proc / "task").iterdir())
    assert len(tasks) == 5
    assert "".join((task / "children").read_text() for task in tasks) == ""
    agents = {"driver-conducto", "sender", "receiver", "aerolog-standby"}
    # A thread names itself when it begins to run.
    wait_until(
        lambda: {(task / "comm").read_text().strip() for task in tasks} >= agents,
        "threads to name themselves",
    )
    process.stop()


def test_a_second_driver_on_the_directory_is_refused(run):
    first = run()
    first.ready()
    code, out, err = run().end()
    assert (code, out) == (1, "")
    assert "Active media driver detected" in err
    assert first.stop()[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-Dnonsense"], "malformed define: nonsense"),
        (["--verbose"], "unknown option '--verbose'"),
        (["/no/such/file"], "loading properties from /no/such/file"),
        (["-Daeron.threading.mode=fast"], "aeron.threading.mode"),
        (["-Daeron.ipc.term.buffer.length=100k"], "Term length not a power of 2"),
        (["-Daeron.shared.idle.strategy=com.example.Nap"], "com.example.Nap"),
    ],
)
def test_unusable_arguments_exit_2_and_say_why(run, directory, arguments, message):
    code, out, err = run(*arguments).end()
    assert (code, out) == (2, "")
    assert message in err
    assert not directory.exists()


def test_files_and_definitions_count_in_the_order_of_the_command_line(run, tmp_path):
    file = tmp_path / "driver.properties"
    file.write_text("aeron.client.liveness.timeout=4s\naeron.threading.mode=SHARED\n")
    process = run("-Daeron.client.liveness.timeout=3s", str(file), "-Daeron.timer.interval=500ms")
    assert "(SHARED)" in process.ready()
    assert process.cnc().header.client_liveness_timeout_ns == 4_000_000_000
    process.stop()


def test_the_environment_is_read_by_its_c_names_and_is_weakest(run):
    env = {"AERON_THREADING_MODE": "SHARED", "AERON_CLIENT_LIVENESS_TIMEOUT": "7s"}
    process = run("-Daeron.client.liveness.timeout=5s", env=env)
    assert "(SHARED)" in process.ready()
    assert process.cnc().header.client_liveness_timeout_ns == 5_000_000_000
    process.stop()


def test_the_configuration_is_printed_to_stdout_when_asked_for(run):
    env = {"AERON_PRINT_CONFIGURATION": "1", "AERON_IPC_TERM_BUFFER_LENGTH": "1m"}
    process = run(env={**os.environ, **env})
    lines = [process.ready()]
    while not lines[-1].startswith("aerolog driver ready: "):
        lines.append(process.ready())
    assert process.stop() == (0, "", "")
    assert lines[:3] == ["MediaDriver.Context\n", "{\n", "    cncVersion=0.2.0\n"]
    assert "    ipcTermBufferLength=1048576\n" in lines
    assert "    clientLivenessTimeoutNs=10000000000\n" in lines
    assert lines[-2] == "}\n"


def test_the_conductor_runs_on_the_processor_it_is_given(run):
    processor = max(os.sched_getaffinity(0))
    process = run(env={"AERON_CONDUCTOR_CPU_AFFINITY": str(processor)})
    process.ready()

    def allowed():
        """Processors by the name of a thread, which names and binds itself as it begins."""
        tasks = Path(f"/proc/{process.popen.pid}/task").iterdir()
        return {(t / "comm").read_text().strip(): os.sched_getaffinity(int(t.name)) for t in tasks}

    wait_until(
        lambda: len(allowed()) == 5 and allowed().get("driver-conducto") == {processor},
        "threads on their processors",
    )
    found = allowed()
    del found["driver-conducto"]
    assert list(found.values()) == [os.sched_getaffinity(0)] * 4
    process.stop()


def terminate(process):
    cnc = process.cnc()
    cnc.to_driver.write(
        c.TerminateDriver.TYPE_ID, c.encode_command(c.TerminateDriver(-1, 4711, b"please"))
    )
    return cnc


def test_a_terminate_command_ends_it_where_that_is_allowed(run):
    allow = "io.aeron.driver.DefaultAllowTerminationValidator"
    process = run(f"-Daeron.driver.termination.validator={allow}")
    process.ready()
    terminate(process)
    assert process.end() == (0, "", "")


def test_a_terminate_command_is_denied_by_default(run):
    process = run()
    process.ready()
    cnc = terminate(process)
    wait_until(lambda: not cnc.to_driver.pending, "the commands to be read")
    assert process.popen.poll() is None
    assert cnc.counters.counter_value(SystemCounter.ERRORS) == 0
    assert process.stop()[0] == 0


def test_the_directory_goes_when_told_to(run, directory):
    process = run("-Daeron.dir.delete.on.shutdown=true")
    process.ready()
    process.stop()
    assert not directory.exists()


def test_what_was_there_is_noted_when_asked_for(run, directory):
    before = run()
    before.ready()
    before.stop()
    process = run("-Daeron.dir.delete.on.start=true", "-Daeron.dir.warn.if.exists=true")
    process.ready()
    assert process.stop()[2] == f"WARNING: {directory} exists\n"


def test_a_second_start_leaves_the_first_driver_alone(run, directory):
    first = run()
    first.ready()
    before = (directory / "cnc.dat").stat().st_ino
    code, _, err = run("-Daeron.dir.delete.on.start=true").end()
    assert (code, err.count("Active media driver detected")) == (1, 1), err
    assert (directory / "cnc.dat").stat().st_ino == before
    assert first.stop()[0] == 0


def test_unknown_names_are_warned_of_once_and_have_no_effect(run):
    process = run("-Daeron.term.bufer.length=64k", env={**os.environ, "AERON_DRIVER_TIMOUT": "1"})
    process.ready()
    with Aeron(process.directory) as client:
        client.add_subscription("aeron:ipc?alais=x", 1001)
    code, _, err = process.stop()
    assert code == 0
    assert err.splitlines() == [
        f"WARNING: unknown {text}"
        for text in (
            (
                "variable AERON_DRIVER_TIMOUT; did you mean AERON_DRIVER_TIMEOUT?"
                " (environment AERON_DRIVER_TIMOUT)"
            ),
            (
                "property aeron.term.bufer.length; did you mean aeron.term.buffer.length?"
                " (-Daeron.term.bufer.length)"
            ),
        )
    ]


def test_strict_refuses_unknown_names(run):
    code, _, err = run("-Daerolog.strict=true", "-Daeron.dri=x").end()
    assert code == 2
    assert err == "ERROR: unknown property aeron.dri; did you mean aeron.dir? (-Daeron.dri)\n"
