"""The reference pages say what the code says."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aerolog.archive.service.properties import PROPERTIES as ARCHIVE_PROPERTIES
from aerolog.tools.command_line.application import COMMANDS
from aerolog.transport.driver.properties import PROPERTIES as DRIVER_PROPERTIES
from aerolog.transport.uri import PARAMETERS

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = ROOT / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text()


def test_the_pages_are_as_written_by_the_script() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference_pages.py", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (ran.stdout, ran.returncode) == ("", 0), (
        f"run python scripts/reference_pages.py\n{ran.stdout}{ran.stderr}"
    )


@pytest.mark.parametrize("prop", [*DRIVER_PROPERTIES, *ARCHIVE_PROPERTIES], ids=lambda p: p.name)
def test_every_property_is_on_the_page(prop: Any) -> None:
    assert re.search(rf"^\| `{re.escape(prop.name)}` \| `", page("configuration.md"), re.MULTILINE)


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.key)
def test_every_channel_parameter_is_on_the_page(parameter: Any) -> None:
    assert f"| `{parameter.key}` |" in page("channel-uri.md")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_is_on_the_page(name: str) -> None:
    assert f"\n## `aerolog {name}`\n" in page("cli.md")


def test_environment_names_are_the_c_drivers() -> None:
    irregular = {"aeron.name.resolver.threshold": "AERON_DRIVER_NAME_RESOLVER_THRESHOLD"}

    for prop in (*DRIVER_PROPERTIES, *ARCHIVE_PROPERTIES):
        expected = irregular.get(prop.name, prop.name.upper().replace(".", "_"))
        assert prop.env == expected
