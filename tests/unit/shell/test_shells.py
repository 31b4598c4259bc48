"""Completion as the real shells do it: typed into in a terminal (bash, zsh) or asked (fish)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from prerequisites import program_or_skip
from typing_shell import TypingShell

if TYPE_CHECKING:
    from pathlib import Path

Complete = Callable[..., list[str]]

# Ctrl-G shows the line that is being typed, Alt-* puts all candidates in it.
BASH = r"""
bind 'set enable-bracketed-paste off'; bind -x '"\C-g": printf "{%s}\n" "$READLINE_LINE"'
source <(aerolog completion bash); stty cols 1000; PS1=; echo re''ady
"""
ZSH = r"""
unset zle_bracketed_paste; stty cols 1000; PS1=
autoload -Uz compinit && compinit -u -D; source <(aerolog completion zsh)
zstyle ':completion:all-matches::::' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
zle -C all-matches complete-word _generic; bindkey '^[*' all-matches
dump() { print -r -- "{$BUFFER}" }; zle -N dump; bindkey '^G' dump; bindkey '^U' kill-whole-line
echo re''ady
"""
COMMANDS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
LINES_OF = {"bash": BASH, "zsh": ZSH}
ERASE, ALL, SHOW = "\x15", "\x1b*", "\x07"


def typing(shell: str, environ: dict[str, str]) -> Iterator[Complete]:
    with TypingShell(COMMANDS[shell], environ) as typed:
        typed.type(LINES_OF[shell])
        typed.shows("\n(ready)")

        def complete(line: str, *, every: bool = False) -> list[str]:
            typed.type(ERASE + line + (ALL if every else "\t") + SHOW)
            return typed.shows(r"\{(.*)\}").split()

        yield complete


def asking(environ: dict[str, str]) -> Iterator[Complete]:
    def complete(line: str, *, every: bool = False) -> list[str]:
        ran = subprocess.run(
            ["fish", "--no-config", "-c", 'aerolog completion fish | source; complete -C "$LINE"'],
            env={**environ, "LINE": line},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=True,
        )
        found = [one.partition("\t")[0] for one in ran.stdout.splitlines()]
        before = line.split(" ")[:-1]
        return [*before, *found] if every or len(found) == 1 else line.split()

    yield complete


@pytest.fixture(params=["bash", "zsh", "fish"])
def complete(request: pytest.FixtureRequest, shell_environ: dict[str, str]) -> Iterator[Complete]:
    program_or_skip(request.param)
    if request.param == "fish":
        yield from asking(shell_environ)
    else:
        yield from typing(request.param, shell_environ)


@pytest.mark.timeout(300)
def test_lines_are_completed(complete: Complete, tmp_path: Path) -> None:
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "file").touch()

    assert complete("aerolog complet") == ["aerolog", "completion"]
    assert sorted(complete("aerolog re", every=True)[1:]) == [
        "record",
        "recordings",
        "replay",
        "retention",
    ]
    assert complete("aerolog recordings delete-d")[2:] == ["delete-detached"]
    assert complete("aerolog tail 1 --format j")[3:] == ["--format", "json"]
    assert complete("aerolog tail 1 --format=j")[3:] == ["--format=json"]
    assert complete("aerolog driver -Daeron.threading.mo")[2:] == ["-Daeron.threading.mode="]
    assert complete("aerolog driver -Daeron.threading.mode=INV")[2:] == [
        "-Daeron.threading.mode=INVOKER"
    ]
    found = f"{tmp_path}/folder/inner/"
    assert complete(f"aerolog replay 1 --archive-dir {tmp_path}/folder/")[4:] == [found]
    assert complete(f"aerolog replay 1 --archive-dir={tmp_path}/folder/")[3:] == [
        f"--archive-dir={found}"
    ]
    file = f"{tmp_path}/folder/file"
    assert complete(f"aerolog publish 'a b' 1 --file {tmp_path}/folder/f")[-1] == file
    assert complete("aerolog nothing such") == ["aerolog", "nothing", "such"]
