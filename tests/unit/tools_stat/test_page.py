"""The page's samples print what it says, and its table has every limit."""

import re
from pathlib import Path

import pytest

from aerolog.tools.views.stream_limits import LimitKind

from .made_up import MadeUpDriver

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tools" / "stat.md").read_text()
SAMPLES = re.findall(r"```text\n\$ aerolog (.+?)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("command", "expected"), SAMPLES, ids=["streams", "stat"])
def test_a_sample_prints_what_the_page_says(
    aerolog, driver: MadeUpDriver, monkeypatch: pytest.MonkeyPatch, command: str, expected: str
) -> None:
    driver.client(1, "pricing")
    driver.ipc(position=32_800, limit=32_768, readers={3: 0, 4: 32_800})
    driver.sent(position=900, limit=32_768, sent=900, allowed=33_000)
    driver.received(hwm=900, position=900, readers={5: 900})
    monkeypatch.setenv("AERON_DIR", str(driver.folder))

    ran = aerolog(*command.split())

    assert (ran.code, ran.err) == (0, "")
    assert re.fullmatch(re.escape(expected).replace(r"\.\.\.", ".*?"), ran.out)


def test_there_are_samples() -> None:
    assert len(SAMPLES) == 2


def test_the_table_has_every_limit() -> None:
    table = PAGE.partition("| limit |")[2].partition("\n\n")[0]
    told = set(re.findall(r"^\| ([a-z ]+) \|", table, re.MULTILINE))

    assert told == {str(kind) for kind in LimitKind} - {LimitKind.NOTHING}
