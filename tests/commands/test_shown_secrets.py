"""Every command, each of its options with a secret in a URL or setting: it is not shown or kept."""

from __future__ import annotations

import contextlib
import io
import random
import shutil
from typing import TYPE_CHECKING

import pytest
from walked_commands import COMMANDS, ENDING, GIVEN, valued_options

from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.job_runs import begin_run, fail_run
from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path

MARK = "hush"
#: Where nothing listens: no form leaves this machine.
NOWHERE = "endpoint_override=127.0.0.1:1&scheme=http&region=r"
FORMS = (
    f"postgresql://me:{MARK}@127.0.0.1:1/x",
    f"postgresql://me:p@{MARK}@127.0.0.1:1/x",
    f"postgresql://127.0.0.1:1/x?password={MARK}",
    f"s3://AKIA:a/{MARK}+b=@bucket/path?{NOWHERE}",
    f"s3://bucket/path?secret_key={MARK}&{NOWHERE}",
    f"abfss://path?sas={MARK}&sig={MARK}",
    f"http://me:{MARK}@127.0.0.1:1/x?token={MARK}",
    f"spark://me:{MARK}@127.0.0.1:1",
    f"password={MARK}",
)
#: Commands that keep texts of their user's own, which are shown as they are.
KEEPING = {"catalog tag", "retention hold", "retention release"}
JOB = """\
name = "orders"
{key} = "{value}"
{other}
[output]
to = "{to}"
[spark]
master = "{master}"
"""


def told(*words: str) -> str:
    """What a command prints, to both streams."""
    error = io.StringIO()
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(error):
        main(list(words))
        output.flush()
    return output.buffer.getvalue().decode() + error.getvalue()  # type: ignore[attr-defined]


def kept(folder: Path) -> list[Path]:
    """The files that have the mark in them."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".toml"]
    return [path for path in files if MARK.encode() in path.read_bytes()]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def own_archive(archive: Path, tmp_path: Path) -> Path:
    """A copy of the archive, with a catalog that knows this one and not the other."""
    own = tmp_path / "own-archive"
    shutil.copytree(archive, own, ignore=shutil.ignore_patterns("aerolog-catalog.*"))
    with RecordingCatalog.open(archive_dir=own) as catalog:
        sync_folder(catalog, own)
    return own


def shown_by(path: str, archive: Path, pick: random.Random, extra: tuple[str, ...] = ()) -> list:
    """The calls of a command that showed the mark, one call for each option, and what they said."""
    command = COMMANDS[path]
    options = valued_options(command)
    given = {name: value for name, value in GIVEN.items() if name in options}
    arguments = [each for each in command.params if not each.opts[0].startswith("-")]
    found = []
    for option in (*options, ""):
        form = pick.choice(FORMS)
        words = [*path.split(), *ENDING.get(path, ()), *extra]
        for name, value in given.items():
            if name != option:
                words += [name, value.replace("ARCHIVE", str(archive))]
        words += [option, form] if option else []
        words += [form if option == "" else "0" for _ in arguments]
        if MARK in (said := told(*words)):
            found.append((words, said))
    return found


@pytest.mark.parametrize("path", COMMANDS)
def test_no_command_shows_or_keeps_it(path: str, place: Path, own_archive: Path) -> None:
    assert shown_by(path, own_archive, random.Random(path)) == []
    assert path in KEEPING or kept(place) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("path", COMMANDS)
def test_no_command_does_with_other_forms_and_traces(
    path: str, seed: int, place: Path, own_archive: Path
) -> None:
    pick = random.Random(f"{path} {seed}")
    assert shown_by(path, own_archive, pick, ("--debug",) if seed % 2 else ()) == []
    assert path in KEEPING or kept(place) == []


@pytest.mark.parametrize("form", FORMS[:-1])
@pytest.mark.parametrize("key", ["archive-dir", "catalog", "to", "master"])
def test_no_job_does(key: str, form: str, place: Path, own_archive: Path) -> None:
    values = {"to": "out", "master": "local[1]"} | ({key: form} if key in {"to", "master"} else {})
    first = key if key in {"archive-dir", "catalog"} else "archive-dir"
    job = place / "job.toml"
    job.write_text(
        JOB.format(key=first, value=form if first == key else own_archive, other="", **values)
    )
    for words in ("run", "run --dry-run", "status"):
        assert MARK not in told("pipeline", *words.split(), str(job))
    assert kept(place) == []


def test_no_run_keeps_it(place: Path) -> None:
    url = f"sqlite:///{place}/catalog.db"
    with RecordingCatalog.open(url) as catalog:
        begin_run(catalog, "orders", "run-1")
        fail_run(catalog, "run-1", f"cannot reach {FORMS[1]}: password={MARK}")
    assert kept(place) == []
