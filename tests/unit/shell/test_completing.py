"""What fits at the end of a line that is being typed."""

import pytest

from aerolog.tools.command_line.application import COMMANDS
from aerolog.tools.main import main
from aerolog.tools.shell.completion_candidates import candidates, split_line


def texts(line: str) -> list[str]:
    *words, last = split_line(line)
    return [one.text for one in candidates(words, last)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", [""]),
        ("aerolog", [""]),
        ("aerolog ", [""]),
        ("aerolog st", ["st"]),
        ("aerolog tail ", ["tail", ""]),
        ("aerolog tail 'a b", ["tail", "a b"]),
        ('aerolog tail "a b" c', ["tail", "a b", "c"]),
        ("aerolog tail a=b:c", ["tail", "a=b:c"]),
        ("aerolog x #y", ["x", "#y"]),
    ],
)
def test_a_line_is_cut_as_the_shell_does(line: str, words: list[str]) -> None:
    assert split_line(line) == words


def test_every_command_is_offered_with_its_meaning() -> None:
    offered = {one.text: one.meaning for one in candidates([], "")}

    assert offered == {name: line for name, (_, line) in COMMANDS.items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("aerolog --", ["--version", "--debug", "--help"]),
        ("aerolog --debug comp", ["completion"]),
        ("aerolog recordings st", ["stop", "stop-replication"]),
        ("aerolog recordings --h", ["--help"]),
        ("aerolog tail 1 --format ", ["text", "hex", "json", "raw"]),
        ("aerolog tail 1 --count --format ", []),
        ("aerolog tail 1 --format json --fo", []),
        ("aerolog tail 1 -- --fo", []),
        ("aerolog driver -Daeron.threading.mode=SH", [
            "-Daeron.threading.mode=SHARED_NETWORK", "-Daeron.threading.mode=SHARED"]),
        ("aerolog archive -Daeron.threading.mod", []),
        ("aerolog archive-tool x mark-v", ["mark-valid"]),
        ("aerolog driver-tool t", ["terminate"]),
        ("aerolog doctor --fail-on w", ["warning"]),
        ("aerolog man archive-t", ["archive-tool"]),
        ("aerolog completion ", ["bash", "zsh", "fish"]),
        ("aerolog nothing ", []),
        ("aerolog recordings nothing ", []),
    ],
)  # fmt: skip
def test_what_fits_is_offered(line: str, expected: list[str]) -> None:
    assert texts(line) == expected


@pytest.mark.parametrize(
    ("line", "kind", "typed"),
    [
        ("aerolog replay 1 --archive-dir /a/b", "dir", "/a/b"),
        ("aerolog replay 1 --archive-dir=/a/b", "dir", "--archive-dir=/a/b"),
        ("aerolog archive-tool /a", "dir", "/a"),
        ("aerolog publish a 1 --file ", "file", ""),
        ("aerolog pipeline run x", "file", "x"),
        ("aerolog driver -Da=b so", "file", "so"),
    ],
)
def test_places_are_left_to_the_shell(line: str, kind: str, typed: str) -> None:
    *words, last = split_line(line)

    assert [(one.kind, one.text) for one in candidates(words, last)] == [(kind, typed)]


def test_bash_gets_what_stands_behind_its_own_cuts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["__complete", "bash", "aerolog tail 1 --format=j", "j"]) == 0
    assert capsys.readouterr().out == "word\tjson\t\n"

    assert main(["__complete", "fish", "tail", "1", "--format=j"]) == 0
    assert capsys.readouterr().out == "word\t--format=json\t\n"


def test_an_option_that_may_be_repeated_is_offered_again() -> None:
    assert "--tag" in texts("aerolog catalog search x --tag a --t")


def test_the_script_is_that_of_the_shell_in_use(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert main(["completion"]) == 0
    assert capsys.readouterr().out.startswith("#compdef aerolog\n")

    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert main(["completion"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err

    assert main(["completion", "tcsh"]) == 2
