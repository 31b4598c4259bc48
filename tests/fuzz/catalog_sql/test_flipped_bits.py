"""A bit of a SQL catalog's file flips: commands answer, or say what is wrong and what to do."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from fuzzed_commands import said

from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.labels import label
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

FLIPS = 40
JOINED = (
    "SELECT r.*, s.*, t.* FROM recordings r JOIN segments s ON s.recording_fk = r.id "
    "LEFT JOIN tags t ON t.recording_fk = r.id"
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive's folder with a SQL catalog that has rows in most tables."""
    folder: Path = tmp_path_factory.mktemp("flips") / "archive"
    folder.mkdir()
    for stream_id, messages in enumerate([1, 200, 40] * 5):
        builder = RecordingBuilder(stream_id=stream_id)
        for number in range(messages):
            builder.add(b"%d" % number * 200)
        builder.write(folder)
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder, fingerprints=True)
        label(catalog, folder, [1], tags={"carrier": "AA"}, name="first")
    assert said("export", "1", "2", "--archive-dir", folder, "--to", folder.parent / "out")[0] == 0
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("catalog", "search"),
        ("catalog", "search", "--json"),
        ("catalog", "show", "first", "--json"),
        ("catalog", "sql", JOINED),
        ("catalog", "sync"),
        ("catalog", "rebuild"),
        ("catalog", "tag", "1", "--set", "c=d"),
        ("export", "1", "2"),
    ],
    ids=lambda command: "-".join(command[:2]) + ("-json" if "--json" in command else ""),
)
def test_commands_on_a_flipped_bit(archive: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    content = (archive / "aerolog-catalog.db").read_bytes()
    journal = archive / "aerolog-catalog.journal"
    noted = journal.read_bytes()
    written = [at for at, byte in enumerate(content) if byte]
    rng = random.Random("-".join(command))
    to = ("--to", tmp_path / "out") if command[0] == "export" else ()
    damaged = 0
    for number in range(FLIPS):
        flipped = bytearray(content)
        at, bit = rng.choice(written), rng.randrange(8)
        flipped[at] ^= 1 << bit
        file = tmp_path / f"{number}.db"
        file.write_bytes(flipped)
        code, error = said(
            *command, *to, "--archive-dir", archive, "--catalog", f"sqlite:///{file}"
        )
        journal.write_bytes(noted)
        file.unlink()
        assert code in {0, 1}, f"bit {bit} of byte {at}: {error}"
        assert not code or error.splitlines()[-1].startswith("aerolog: "), error
        damaged += "move it away and run: aerolog catalog rebuild" in error
    assert damaged


@pytest.mark.parametrize("length", [99, 100, 4096, 20_000, 100_000])
def test_a_file_that_was_cut(archive: Path, tmp_path: Path, length: int) -> None:
    file = tmp_path / "cut.db"
    file.write_bytes((archive / "aerolog-catalog.db").read_bytes()[:length])
    code, error = said("catalog", "search", "--catalog", f"sqlite:///{file}")
    assert code == 1
    assert "run: aerolog catalog rebuild" in error
