"""Where retention keeps its own files in an archive's folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerolog.archive.format.layout import SIDE_FOLDER

if TYPE_CHECKING:
    from aerolog.transport.memory.filesystem import FileSystem

FOLDER: Final = "retention"
HOLDS_NAME: Final = "holds.json"
JOURNAL_NAME: Final = "journal.jsonl"
LOCK_NAME: Final = "lock"
STEP_LOCK_NAME: Final = "step.lock"


def folder_path(archive_dir: str | Path) -> str:
    """The folder of retention's files."""
    return str(Path(archive_dir) / SIDE_FOLDER / FOLDER)


def holds_path(archive_dir: str | Path) -> str:
    """The file of holds."""
    return str(Path(folder_path(archive_dir)) / HOLDS_NAME)


def journal_path(archive_dir: str | Path) -> str:
    """The journal."""
    return str(Path(folder_path(archive_dir)) / JOURNAL_NAME)


def lock_path(archive_dir: str | Path) -> str:
    """What a run locks."""
    return str(Path(folder_path(archive_dir)) / LOCK_NAME)


def step_lock_path(archive_dir: str | Path) -> str:
    """What a step of a run and a change of holds lock, so that a hold comes before or after."""
    return str(Path(folder_path(archive_dir)) / STEP_LOCK_NAME)


def make_folder(archive_dir: str | Path, files: FileSystem) -> None:
    """Make the folder of retention's files, durably, where there is none.

    Raises:
        FileNotFoundError: there is no archive's folder.
        OSError: it cannot be made.
    """
    if not files.is_dir(str(archive_dir)):
        raise FileNotFoundError(f"there is no folder {archive_dir}")
    path = folder_path(archive_dir)
    if files.is_dir(path):
        return
    files.make_dirs(path)
    files.sync_dir(str(Path(path).parent))
    files.sync_dir(str(archive_dir))
