"""The folder in which Wireshark looks for the dissectors of one user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from aerolog.transport.memory.filesystem import named

FILE_NAME: Final = "aerolog.lua"


def personal_plugins() -> Path:
    """The folder of personal Lua plugins, which need not be there yet.

    It is ``~/.config/wireshark/plugins`` where that is there, else the usual place,
    ``~/.local/lib/wireshark/plugins``.
    """
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    older = config / "wireshark" / "plugins"
    return older if older.is_dir() else Path.home() / ".local" / "lib" / "wireshark" / "plugins"


def place(lua: str, folder: Path) -> Path:
    """Write the dissector into a folder, whole or not at all; returns the file.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / FILE_NAME
    part = folder / f".{FILE_NAME}.{os.getpid()}"
    try:
        with named(part):
            part.write_text(lua)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target
