"""What the reference wrote and the tests compare with: see tests/golden/data/README.md."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_DATA = Path(__file__).resolve().parents[1] / "golden" / "data"
GOLDEN_ARCHIVE = _DATA / "java-archive-1"
GOLDEN_FILES = sorted(_DATA.rglob("*.json"))


def copy_archive(target: Path) -> Path:
    """A copy of the golden archive folder that a test may change."""
    shutil.copytree(GOLDEN_ARCHIVE, target, copy_function=shutil.copyfile)
    return target


def manifest() -> dict[str, Any]:
    """What the golden archive folder holds, as the reference and a second reader saw it."""
    found: dict[str, Any] = _loaded("java-archive-1/manifest.json")
    return found


def control_messages() -> list[dict[str, Any]]:
    """The messages that archives of the reference and their clients exchanged, in order."""
    messages: list[dict[str, Any]] = _loaded("archive-control-transcript.json")["messages"]
    return messages


def channel_uris() -> list[dict[str, Any]]:
    """One row for each channel URI: what the reference's parser, drivers and builder answered."""
    rows: list[dict[str, Any]] = _loaded("channel-uris.json")["rows"]
    return rows


def layouts_of_the_reference() -> dict[str, Any]:
    """Messages of the cluster, a log's metadata and the header of cnc.dat, as hexadecimal bytes."""
    found: dict[str, Any] = _loaded("reference-layouts.json")
    return found


def _loaded(name: str) -> Any:
    return json.loads((_DATA / name).read_text(encoding="utf-8"))


def as_file(content: dict[str, Any]) -> str:
    """The text of a golden file: each entry of a list or an object in it is a line."""
    return "{\n" + ",\n".join(_parts(content)) + "\n}\n"


def _parts(content: dict[str, Any]) -> Iterator[str]:
    for name, value in content.items():
        if isinstance(value, dict) and value:
            lines = [f"  {json.dumps(key)}: {json.dumps(one)}" for key, one in value.items()]
        elif isinstance(value, list) and value:
            lines = [f"  {json.dumps(one)}" for one in value]
        else:
            yield f" {json.dumps(name)}: {json.dumps(value)}"
            continue
        first, last = "{}" if isinstance(value, dict) else "[]"
        yield f" {json.dumps(name)}: {first}\n" + ",\n".join(lines) + f"\n {last}"
