"""Command lines on pages and in the README: commands and options are there, run or not."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from page_samples import ROOT

from aerolog.tools.command_line.application import application

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GENERATED = {"cli.md"}  # of the declarations themselves
BLOCK = re.compile(r"^```(?!python|toml|java|mermaid)\S*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^(?:\$ |sudo )?(aerolog [a-z].*)$", re.MULTILINE)
END = re.compile(r"\s#\s|\s#$|[|;&]|\s\d?>|<|…|\.\.\.")


def lines(text: str) -> list[str]:
    """The command lines of a page's blocks, up to where the shell takes over."""
    blocks = [block.replace("\\\n", " ") for block in BLOCK.findall(text)]
    found = [line for block in blocks for line in LINE.findall(block)]
    return [END.split(line.replace("'", '"') if line.count("'") % 2 else line)[0] for line in found]


def known(command: Any) -> set[str]:
    return {option for param in command.params for option in (*param.opts, *param.secondary_opts)}


def fault(line: str) -> str | None:
    """What is wrong with a command line, None when nothing is."""
    try:
        words = shlex.split(line)[1:]
    except ValueError:  # a quotation that the shell would have ended behind a bar
        words = line.replace("'", "").replace('"', "").split()[1:]
    root = application()
    context = root.make_context("aerolog", [], resilient_parsing=True)
    command: Any = root.get_command(context, words[0])
    if command is None:
        return f"there is no command {words[0]}: {line}"
    rest = words[1:]
    while getattr(command, "commands", None) and rest:
        inner = command.commands.get(rest[0])
        if inner is None:
            return f"there is no command {rest[0]}: {line}"
        command, rest = inner, rest[1:]
    options = {word.partition("=")[0] for word in rest if word.startswith("--")}
    unknown = options - known(command) - {"--help", "--debug", "--version"}
    return f"no such option {sorted(unknown)}: {line}" if unknown else None


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in GENERATED], ids=lambda page: page.stem
)
def test_command_lines_are_ones(page: Any) -> None:
    found = [fault(line) for line in lines(page.read_text(encoding="utf-8"))]
    assert [text for text in found if text] == []


def test_many_lines_are_looked_at() -> None:
    assert sum(len(lines(page.read_text(encoding="utf-8"))) for page in PAGES) > 80


def test_a_wrong_line_is_noticed() -> None:
    assert fault("aerolog recordings list --archive-dir x") is None
    assert "no such option" in str(fault("aerolog stat --no-such-thing"))
    assert "no command" in str(fault("aerolog recordings lost"))
