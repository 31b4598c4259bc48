"""The commands of docker-compose.yml, by service: what compose runs, tests run as processes."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
COMPOSE = CHECKOUT / "docker-compose.yml"


def commands() -> dict[str, list[str]]:
    """Commands of our services and their health checks; each stands on a line, as a list."""
    found, service = {}, ""
    for line in COMPOSE.read_text().splitlines():
        if match := re.fullmatch(r"  ([a-z0-9-]+):", line):
            service = match[1]
        elif match := re.fullmatch(r"    command: (\[.*\])", line):
            found[service] = json.loads(match[1])
        elif match := re.fullmatch(r'      test: \["CMD", (.*)\]', line):
            found[f"{service} health"] = json.loads(f"[{match[1]}]")
    return found


def local(command: list[str], places: dict[str, str]) -> list[str]:
    """A command for this machine.

    Args:
        command: of a service.
        places: what of the containers is called what here.
    """
    name, *arguments = command
    # In one pass, so that a name of here is never taken for one of the containers.
    ours = re.compile("|".join(map(re.escape, places)))
    arguments = [ours.sub(lambda found: places[found[0]], one) for one in arguments]
    if name == "aerolog":
        return [sys.executable, "-m", "aerolog.tools.main", *arguments]
    if name == "python":
        return [sys.executable, *arguments]
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    assert found, f"no program {name}"
    return [found, *arguments]
