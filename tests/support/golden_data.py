"""What the reference wrote and the tests compare with: see tests/golden/data/README.md."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

_DATA = Path(__file__).resolve().parents[1] / "golden" / "data"
GOLDEN_ARCHIVE = _DATA / "java-archive-1"


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
