"""Manual pages: of every command, as --help has them, without a complaint of groff and man."""

import re
import subprocess
from pathlib import Path

import pytest
from prerequisites import program_or_skip

from aerolog.tools.command_line.application import COMMANDS
from aerolog.tools.main import main
from aerolog.tools.shell.manual_pages import ManualPage, pages

ALL = {page.name: page for page in pages()}


def rendered(text: str) -> str:
    """A page as plain text, in one column; groff's warnings are an error."""
    ran = subprocess.run(
        [program_or_skip("groff"), "-man", "-ww", "-Tutf8", "-P-cbou", "-rLL=250n", "-rHY=0"],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.stderr, ran.returncode) == ("", 0)
    return ran.stdout


def squeezed(text: str) -> str:
    """Text without its spacing and in straight quotes."""
    return re.sub(r"\s+", "", text.replace("\u2019", "'").replace("\u2010", "-"))


def test_every_command_has_a_page_and_it_is_in_the_overview() -> None:
    overview = ALL["aerolog"].text

    for name in COMMANDS:
        assert f"aerolog-{name}" in ALL
        escaped = name.replace("-", "\\-")
        assert f"\\fB{escaped}\\fR" in overview
    assert "aerolog-recordings-list" in ALL


@pytest.mark.parametrize("shown", ALL.values(), ids=lambda page: page.name)
def test_a_page_says_what_the_help_says(
    shown: ManualPage, capsys: pytest.CaptureFixture[str]
) -> None:
    path = re.sub("^aerolog-?", "", shown.name)
    group = next((g for g in COMMANDS if path.startswith(f"{g}-") and path not in COMMANDS), None)
    words = [group, path.removeprefix(f"{group}-")] if group else path.split()
    assert main([*words, "--help"]) == 0
    printed = capsys.readouterr().out

    text = squeezed(rendered(shown.text))

    for line in re.findall(r"^  (-\S.*?)(?:  .*)?$", printed, re.MULTILINE):
        assert squeezed(line) in text
    for example in re.findall(r"^  (aerolog .*)$", printed, re.MULTILINE):
        assert squeezed(example) in text
    assert "EXITSTATUS" in text


@pytest.mark.parametrize("name", ["aerolog", "aerolog-tail"])
def test_man_finds_names_for_its_index(name: str, tmp_path: Path) -> None:
    path = tmp_path / ALL[name].file_name
    path.write_text(ALL[name].text)

    ran = subprocess.run(
        [program_or_skip("lexgrog"), path], capture_output=True, text=True, timeout=60, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert f'"{name} - ' in ran.stdout


def test_written_pages_are_found_by_man(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man", "--to", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{len(ALL)} pages in {tmp_path / 'man1'}\n"

    found = subprocess.run(
        [program_or_skip("man"), "-M", str(tmp_path), "-w", "aerolog-recordings-list"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert found.stdout.strip() == str(tmp_path / "man1" / "aerolog-recordings-list.1")


def test_a_page_is_printed_for_groff_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man", "recordings", "list"]) == 0
    assert capsys.readouterr().out == ALL["aerolog-recordings-list"].text

    assert main(["man"]) == 0
    assert capsys.readouterr().out == ALL["aerolog"].text


@pytest.mark.parametrize("words", [["nothing"], ["recordings", "nothing"], ["x", "--to", "y"]])
def test_what_makes_no_page_is_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man", *words]) == 2
    assert capsys.readouterr().out == ""


def test_markup_in_a_meaning_is_text() -> None:
    from aerolog.tools.shell import manual_pages

    hostile = r".SH a\b 'c' -x --long-one e-mail ~ `q`"
    page = "\n".join(['.TH X 1 "" "" ""', *manual_pages._row(hostile, hostile)]) + "\n"

    shown = rendered(page)

    assert shown.count("--long-one") == 2
    assert r"a\b 'c' -x" in shown
