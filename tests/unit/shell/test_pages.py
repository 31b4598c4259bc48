"""Command lines on the pages about the shell and metrics are ones that parse."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prerequisites import program_or_skip

from aerolog.tools.command_line.application import COMMANDS, application

DOCS = Path(__file__).resolve().parents[3] / "docs"
LINES = sorted(
    {
        re.split(r" +(?:#|\\?\||>)", line)[0].removeprefix("aerolog ")
        for page in ("shell", "metrics")
        for line in re.findall(
            r"(?:^|`|\()(aerolog [^`()\n]+)",
            (DOCS / "tools" / f"{page}.md").read_text(),
            re.MULTILINE,
        )
        if "COMMAND" not in line
    }
)


def test_there_are_some() -> None:
    assert len(LINES) > 8


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_of_a_page_parses(line: str) -> None:
    root: Any = application()
    context = root.make_context("aerolog", [], resilient_parsing=True)
    name, *words = shlex.split(line.replace("~", "/home"))
    if name == "--help":
        return
    assert name in COMMANDS
    command = root.get_command(context, name)
    # A wrong option, argument or value raises.
    command.make_context(name, words, resilient_parsing=False)


def test_the_configuration_for_prometheus_is_one(tmp_path: Path) -> None:
    (sample,) = re.findall(
        r"```yaml\n(.*?)```", (DOCS / "tools" / "metrics.md").read_text(), re.DOTALL
    )
    (tmp_path / "prometheus.yml").write_text(sample)

    checked = subprocess.run(
        [program_or_skip("promtool"), "check", "config", tmp_path / "prometheus.yml"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
