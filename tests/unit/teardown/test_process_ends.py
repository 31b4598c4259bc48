"""What processes of tests do between, in and after tests is seen in the test that it belongs to.

Each case is a folder of tests with the `conftest.py` of all tests, run by a pytest of its own.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

TESTS = Path(__file__).resolve().parents[2]
HEAD = """
import os, signal, sys, time
import pytest
from peer.process import ServerProcess

PLAIN = "import sys; print('ready', flush=True); sys.stdin.read()"

def start(code=PLAIN, **options):
    process = ServerProcess("partner", [sys.executable, "-c", code], **options)
    process.next_line()
    return process

def end(process, number):
    os.kill(process.pid, number)
    while process.running:
        time.sleep(0.01)
"""


def outcomes(tmp_path: Path, code: str, **environment: str) -> dict[str, list[str]]:
    """What is wrong with each test of a file: for each the phases in which it failed."""
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(HEAD + dedent(code))
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n    error_log(part, ...): x\n    processes_end: x\n"
        f"pythonpath = {TESTS / 'interop'} {TESTS / 'support'}\n"
    )
    env = {**os.environ, "AEROLOG_CACHE": str(tmp_path / "cache"), "COLUMNS": "1000"}
    env.pop("AEROLOG_LONG", None)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-rfE",
            "--tb=line",
            str(tmp_path),
        ],
        cwd=tmp_path,
        env=env | environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    found: dict[str, list[str]] = {}
    for word, name, why in re.findall(
        r"^(FAILED|ERROR) test_it\.py::(\w+)(?: - (.*))?$", done.stdout, re.MULTILINE
    ):
        found.setdefault(name, []).append(f"{word} {why}")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert bool(found) == bool(done.returncode), done.stdout
    return found


def check_only(found: dict[str, list[str]], name: str, part: str) -> None:
    """One test is at fault, and it says why."""
    assert list(found) == [name], found
    assert part in " ".join(found[name]), found


@pytest.mark.parametrize("scope", ["module", "session"])
@pytest.mark.parametrize("number", ["SIGSEGV", "SIGKILL", "SIGTERM"])
def test_an_end_in_a_test_is_seen_in_it(tmp_path: Path, scope: str, number: str) -> None:
    found = outcomes(
        tmp_path,
        f"""
        @pytest.fixture(scope={scope!r})
        def server():
            with start() as process:
                yield process

        def test_one(server): pass

        def test_two(server): end(server, signal.{number})

        def test_three(server): pass
        """,
    )
    check_only(found, "test_two", "partner ended with -")


@pytest.mark.parametrize("scope", ["module", "session"])
def test_an_end_while_a_fixture_begins_is_seen_in_its_test(tmp_path: Path, scope: str) -> None:
    found = outcomes(
        tmp_path,
        f"""
        @pytest.fixture(scope={scope!r})
        def server():
            with start() as process:
                yield process

        @pytest.fixture(scope="module")
        def later(server): end(server, signal.SIGSEGV)

        def test_one(server): pass

        def test_two(later): pass

        def test_three(server): pass
        """,
    )
    check_only(found, "test_two", "partner ended with -11")


@pytest.mark.parametrize("scope", ["module", "session"])
def test_an_end_while_a_fixture_ends_is_seen_in_the_test_before(tmp_path: Path, scope: str) -> None:
    found = outcomes(
        tmp_path,
        f"""
        @pytest.fixture(scope={scope!r})
        def server():
            with start() as process:
                yield process
                if process.running:
                    process.stop()

        @pytest.fixture(scope={scope!r})
        def later(server):
            yield
            end(server, signal.SIGABRT)

        def test_one(server): pass

        def test_two(later): pass
        """,
    )
    check_only(found, "test_two", "partner ended with -6")


def test_an_end_between_two_files_is_seen_in_the_first(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    found = outcomes(
        tmp_path,
        """
        @pytest.fixture(scope="module", autouse=True)
        def server():
            process = start()
            yield
            end(process, signal.SIGKILL)

        def test_one(): pass
        """,
    )
    check_only(found, "test_one", "partner ended with -9")


def test_a_crash_cannot_be_declared(tmp_path: Path) -> None:
    found = outcomes(
        tmp_path,
        """
        pytestmark = pytest.mark.processes_end

        def test_ends(): end(start(), signal.SIGTERM)

        def test_crashes(): end(start(), signal.SIGSEGV)
        """,
    )
    check_only(found, "test_crashes", "partner ended with -11")


def test_a_bad_exit_code_of_a_stop_is_seen(tmp_path: Path) -> None:
    found = outcomes(
        tmp_path,
        """
        @pytest.fixture(scope="session")
        def server():
            process = start(PLAIN + "; sys.exit(3)")
            yield process
            process.stop()

        def test_one(server): pass
        """,
    )
    check_only(found, "test_one", "partner ended with 3")


ENTRIES = """
import pytest
from pathlib import Path
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.archive.format.mark_file import ArchiveMarkFile
from mark_headers import archive_header

@pytest.fixture
def server(tmp_path):
    mark = ArchiveMarkFile.claim(tmp_path, archive_header())
    mark.ready()
    with start(folders=[tmp_path]) as process:
        process.note = mark.error_log().record
        yield process
        process.stop()
"""


@pytest.mark.parametrize(
    ("text", "is_long", "is_seen"),
    [
        ("it broke", False, True),
        ("java.lang.IllegalArgumentException: ERROR - bad", False, False),
        ("io.aeron.exceptions.TimeoutException: ERROR - slow", False, False),
        ("io.aeron.exceptions.TimeoutException: ERROR - slow", True, True),
    ],
)
def test_an_entry_of_ours_is_seen(tmp_path: Path, text: str, is_long: bool, is_seen: bool) -> None:
    found = outcomes(
        tmp_path,
        ENTRIES + f"\ndef test_one(server): server.note({text!r})\n",
        **({"AEROLOG_LONG": "1"} if is_long else {}),
    )
    assert list(found) == (["test_one"] if is_seen else []), found


def test_a_declared_entry_is_none(tmp_path: Path) -> None:
    code = """
        @pytest.mark.error_log("broke")
        def test_one(server): server.note("it broke")

        def test_two(server): server.note("it broke")
    """
    check_only(outcomes(tmp_path, ENTRIES + dedent(code)), "test_two", "it broke")


@pytest.mark.parametrize("is_long", [False, True])
def test_a_declaration_that_nothing_matched_fails_the_long_run(
    tmp_path: Path, is_long: bool
) -> None:
    code = """
        @pytest.mark.error_log("broke", "never seen")
        def test_one(server): server.note("it broke")

        @pytest.mark.processes_end
        def test_two(): pass

        @pytest.mark.error_log("left out")
        @pytest.mark.skip(reason="")
        def test_three(server): pass
    """
    environment = {"AEROLOG_LONG": "1"} if is_long else {}
    found = outcomes(tmp_path, ENTRIES + dedent(code), **environment)
    if is_long:
        (said,) = [why for whys in found.values() for why in whys]
        assert "'never seen'" in said
        assert "'processes_end'" in said
        assert "broke" not in said
        assert "left out" not in said
    else:
        assert not found
