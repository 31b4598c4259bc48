"""A plain ``stat`` goes a shorter way, and prints the same."""

import os
import subprocess
import sys

import pytest

from aerolog.tools.command_line.invocation import run
from aerolog.tools.stat.plain_stat import Look, plain_look

from .made_up import MadeUpDriver


@pytest.fixture(autouse=True)
def no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AERON_DIR", raising=False)
    monkeypatch.delenv("AEROLOG_TRACEBACK", raising=False)


@pytest.mark.parametrize(
    ("words", "look"),
    [
        ("stat", Look(None, None, ())),
        ("stat --aeron-dir d --json", Look("d", "--json", ())),
        ("stat type=4 channel=a=b", Look(None, None, ("type=4", "channel=a=b"))),
        ("stat --classic watch=false", Look(None, "--classic", ("watch=false",))),
    ],
)
def test_plain_looks_are_known(words: str, look: Look) -> None:
    assert plain_look(words.split()) == look


@pytest.mark.parametrize(
    "words",
    [
        "streams",
        "stat --help",
        "stat --watch",
        "stat --classic",
        "stat watch=false",
        "stat --json --classic watch=false",
        "stat --aeron-dir",
        "stat --aeron-dir --json",
        "stat nonsense=1",
        "stat --type 4",
        "stat --debug",
    ],
)
def test_all_else_goes_the_usual_way(words: str) -> None:
    assert plain_look(words.split()) is None


@pytest.mark.parametrize("variable", ["AERON_DIR", "AEROLOG_TRACEBACK"])
def test_variables_count(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "/x")

    look = plain_look(["stat"])

    assert look == (Look("/x", None, ()) if variable == "AERON_DIR" else None)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--json",),
        ("type=^12$",),
        ("type=[",),
        ("--classic", "watch=false", "type=^12$"),
        ("--classic", "watch=false", "type=["),
    ],
)
def test_both_ways_print_the_same(
    driver: MadeUpDriver, capsys: pytest.CaptureFixture[str], aerolog, words: tuple[str, ...]
) -> None:
    driver.ipc(position=32_800, limit=32_768, readers={3: 0})
    driver.cnc.mark_closed()  # so that no age is told
    arguments = ["stat", *words, "--aeron-dir", str(driver.folder)]

    quick = aerolog(*arguments)
    code = run(arguments)
    out, err = capsys.readouterr()

    assert (quick.code, still(quick.out), quick.err) == (code, still(out), err)


def still(text: str) -> list[str]:
    """Lines without the time of the look."""
    return [
        line for line in text.splitlines() if "taken_ms" not in line and "Aeron Stat" not in line
    ]


@pytest.mark.parametrize("folder", ["/nix", "a\0b"])
def test_both_ways_tell_the_same_of_what_is_missing(
    capsys: pytest.CaptureFixture[str], aerolog, folder: str
) -> None:
    quick = aerolog("stat", "--aeron-dir", folder)
    code = run(["stat", "--aeron-dir", folder])

    assert (quick.code, quick.out, quick.err) == (code, *capsys.readouterr())
    assert quick.code == 1


def test_a_plain_look_loads_no_command_line(driver: MadeUpDriver) -> None:
    code = (
        "import sys; from aerolog.tools.main import main; code = main(sys.argv[1:]);"
        "heavy = {'typer', 'click', 'rich', 'json', 'tempfile'};"
        "print(code, sorted(heavy & set(sys.modules)))"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code, "stat", "--aeron-dir", str(driver.folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=dict(os.environ),
    )

    assert ran.stdout.splitlines()[-1] == "0 []"
