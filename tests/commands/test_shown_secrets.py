"""Every command, each of its options with a secret in a URL or setting: it is not shown or kept."""

from __future__ import annotations

import random
import shutil
import tempfile
import traceback
from typing import TYPE_CHECKING, Any

import pytest
from fuzzed_commands import said_within
from pipelines_here import HereExecutor
from walked_commands import COMMANDS, ENDING, GIVEN, valued_options

from aerolog.archive.service import properties as archive_properties
from aerolog.catalog.arrow.dataset import ArchiveDataset
from aerolog.catalog.export.pipeline.job import load_job
from aerolog.catalog.export.pipeline.job_run import plan_job, run_job
from aerolog.catalog.export.pipeline.output import claim, explained, open_output
from aerolog.catalog.export.spark_runner import check_master
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.job_runs import begin_run, fail_run
from aerolog.catalog.index.search import Search, search
from aerolog.catalog.locations import open_place, recordings_of
from aerolog.testing.recordings import RecordingBuilder
from aerolog.tools.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MARK = "hush"
#: Where nothing listens: no form leaves this machine.
NOWHERE = "endpoint_override=127.0.0.1:1&scheme=http&region=r"
FORMS = (
    f"postgresql://me:{MARK}@127.0.0.1:1/x",
    f"postgresql://me:p@{MARK}@127.0.0.1:1/x",
    f"postgresql://me:{MARK}/p@127.0.0.1:1/x",
    f"postgresql://127.0.0.1:1/x?password={MARK}",
    f"sqlite:////nowhere/x.db?key={MARK}",
    f"s3://AKIA:a/{MARK}+b=@bucket/path?{NOWHERE}",
    f"s3://AKIA:{MARK}/b+@bucket/path?{NOWHERE}",
    f"s3://AKIA:{MARK}%zz@bucket/path?{NOWHERE}",
    f"s3://bucket/path?secret_key={MARK}&{NOWHERE}",
    f"abfss://path?sas={MARK}&sig={MARK}",
    f"hdfs://me:{MARK}@127.0.0.1:1/x",
    f"http://me:{MARK}@127.0.0.1:1/x?token={MARK}",
    f"http://me:{MARK}\u2100@127.0.0.1:1/x",
    f"spark://me:{MARK}@127.0.0.1:1",
    f"gopher://me:{MARK}@127.0.0.1/x?token={MARK}",
    f"password={MARK}",
    f"DefaultEndpointsProtocol=https;AccountKey={MARK}==",
    f"aeron:udp?endpoint=127.0.0.1:0|alias=password={MARK}",
)
#: Commands that keep texts of their user's own, which are shown as they are.
KEEPING = {"catalog tag", "retention hold", "retention release"}
SERVICES = (
    "driver", "archiving-driver", "archive", "clustered-driver", "consensus-module",
    "service-container",
)  # fmt: skip
JOB = """\
name = "numbers"
archive-dir = "{archive-dir}"
{catalog}

[decode]
decoder = "json"
schema = "n int64, word string"

[output]
to = "{to}"

[spark]
master = "{master}"
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, which is also where temporary files and a user's files are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def own_archive(archive: Path, tmp_path: Path) -> Path:
    """A copy of the archive, with a catalog that knows this one and not the other."""
    own = tmp_path / "own-archive"
    shutil.copytree(archive, own, ignore=shutil.ignore_patterns("aerolog-catalog.*"))
    with RecordingCatalog.open(archive_dir=own) as catalog:
        sync_folder(catalog, own)
    return own


def kept(folder: Path) -> list[Path]:
    """The files that have the mark in them, but for jobs, in which the user wrote it."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".toml"]
    return [path for path in files if MARK.encode() in path.read_bytes()]


class Walk:
    """Calls a command once for each option and each argument, with a form in place of its value."""

    def __init__(self, path: str, archive: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self._words = path.split()
        self._ending = ENDING.get(path, [])
        self._archive = archive
        self._capfd = capfd
        self.command = COMMANDS[path]
        self.options = valued_options(self.command)

    def told(self, option: str, form: str, *extra: str) -> tuple[list[str], str]:
        """The words of a call, and all that it printed; the arguments have the form without one."""
        words = [*self._words, *self._ending, *extra]
        for name, value in GIVEN.items():
            if name in self.options and name != option:
                words += [name, value.replace("ARCHIVE", str(self._archive))]
        if option in self.options:
            words += [option, form]
        arguments = [each for each in self.command.params if not each.opts[0].startswith("-")]
        words += [form if option == "" else "0" for _ in arguments]
        self._capfd.readouterr()
        main(words)
        said = self._capfd.readouterr()
        return words, said.out + said.err

    def shown(self, pick: random.Random, *extra: str) -> list[tuple[list[str], str]]:
        """The calls that showed the mark."""
        calls = [self.told(option, pick.choice(FORMS), *extra) for option in (*self.options, "")]
        return [call for call in calls if MARK in call[1]]

    def shown_of_variables(
        self, pick: random.Random, monkeypatch: pytest.MonkeyPatch
    ) -> list[tuple[str, str]]:
        """The variables of options that let the mark be shown."""
        found = []
        for each in self.command.params:
            for name in [each.envvar] if isinstance(each.envvar, str) else each.envvar or []:
                with monkeypatch.context() as environment:
                    environment.setenv(name, pick.choice(FORMS))
                    _, said = self.told(each.opts[0], "0", "--debug")
                if MARK in said:
                    found.append((name, said))
        return found


@pytest.mark.parametrize("path", COMMANDS)
def test_no_command_shows_or_keeps_it(
    path: str,
    place: Path,
    own_archive: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walk, pick = Walk(path, own_archive, capfd), random.Random(path)
    assert walk.shown(pick) == []
    assert walk.shown_of_variables(pick, monkeypatch) == []
    assert path in KEEPING or kept(place) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("path", COMMANDS)
def test_no_command_does_with_other_forms_and_traces(
    path: str, seed: int, place: Path, own_archive: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    walk, pick = Walk(path, own_archive, capfd), random.Random(f"{path} {seed}")
    assert walk.shown(pick, *(["--debug"] if seed % 2 else [])) == []
    assert path in KEEPING or kept(place) == []


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_does(name: str, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = [
        *(f"-D{prop.name}={FORMS[3]}" for prop in archive_properties.PROPERTIES[:3]),
        f"-Daeron.event.log.filename={place / 'events'}",
        "-Daeron.event.log=all",
        f"-Daeron.unknown.name={FORMS[3]}",
        f"-Daeron.dir={place / 'driver'}",
    ]
    for words in ([FORMS[11]], ["--debug", FORMS[12]], settings):
        said_within(5.0, name, *words)
        said = capfd.readouterr()
        assert MARK not in said.out + said.err
    assert kept(place) == []


def job_file(folder: Path, archive: Path, key: str, form: str) -> Path:
    """A job with a form as the value of a key."""
    values = {"archive-dir": str(archive), "catalog": "", "to": "out", "master": "local[1]"}
    values[key] = f'catalog = "{form}"' if key == "catalog" else form
    job = folder / "job.toml"
    job.write_text(JOB.format(**values))
    return job


@pytest.mark.parametrize("form", FORMS[:15])
@pytest.mark.parametrize("key", ["archive-dir", "catalog", "to", "master"])
def test_no_job_does(
    key: str, form: str, place: Path, own_archive: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    job = job_file(place, own_archive, key, form)
    # Spark begins where a master may be one.
    runs = ["run"] if key != "master" or MARK in form else []
    for words in (*runs, "run --dry-run --debug", "status --json", "run --debug"):
        if key != "master" or words.split()[0] == "run":
            main(["pipeline", *words.split(), str(job)])
    said = capfd.readouterr()
    assert MARK not in said.out + said.err
    assert kept(place) == []


@pytest.mark.parametrize(
    "line",
    [
        'name = "{}"', 'time-source = "{}"', 'sync = "{}"', 'unknown = "{}"', 'archive-dir = "{}"',
        'catalog = "{}"', '[recordings]\nstream = "{}"', '[recordings]\n"{}" = 1',
        '[recordings]\nsince = "{}"', '[decode]\ndecoder = "{}"',
        '[decode]\ndecoder = "json"\nschema = "{}"', '[decode]\ndecoder = "json"\nopt = "{}"',
        '[output]\nto = "s3://[{}"', '[output]\nto = "out"\ndate-column = "{}"',
        '[output]\nto = "out"\nunit-bytes = "{}"', '[output]\nto = "out"\ncompression = "{}"',
        '[[rules]]\nname = "{}"\nexpression = "1"', '[spark]\nmaster = "spark://{}"',
        "rules = '{}'", "output = '{}'",
    ],
)  # fmt: skip
def test_no_value_of_a_variable_is_shown(
    line: str,
    place: Path,
    own_archive: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WHATEVER", f"x{MARK}-%x")
    lines = [line.format("${WHATEVER}")]
    if "name =" not in line or line.startswith("[["):
        lines.insert(0, 'name = "numbers"')
    if "archive-dir" not in line:
        lines.insert(0, f'archive-dir = "{own_archive}"')
    if "output" not in line:
        lines.append('[output]\nto = "out"')
    job = place / "job.toml"
    job.write_text("\n".join(lines))
    assert main(["pipeline", "run", "--debug", str(job)]) != 0 or "[recordings]" in line
    main(["pipeline", "status", "--debug", str(job)])
    said = capfd.readouterr()
    assert MARK not in said.out + said.err.replace("${WHATEVER}", "")
    assert kept(place) == []


def test_no_run_keeps_it(place: Path) -> None:
    with RecordingCatalog.open(f"sqlite:///{place}/catalog.db") as catalog:
        begin_run(catalog, "orders", "run-1")
        fail_run(catalog, "run-1", f"cannot reach {FORMS[1]}: password={MARK}")
    assert kept(place) == []


CALLS: dict[str, Callable[[str, Path, Path], Any]] = {
    "open_place": lambda form, *_: open_place(form),
    "recordings_of": lambda form, *_: recordings_of(form),
    "catalog": lambda form, *_: RecordingCatalog.open(form),
    "dataset": lambda form, *_: ArchiveDataset(form),
    "check_master": lambda form, *_: check_master(form),
    "claim": lambda form, *_: claimed(form),
    "output": lambda form, place, archive: plan_job(load_job(job_file(place, archive, "to", form))),
    "run": lambda form, place, archive: run_job(
        load_job(job_file(place, archive, "to", form)), HereExecutor()
    ),
}


def claimed(form: str) -> None:
    with explained(form):
        claim(open_output(form), form, "numbers")


@pytest.mark.parametrize("form", FORMS[:15])
@pytest.mark.parametrize("call", CALLS)
def test_no_error_or_cause_of_one_has_it(
    call: str, form: str, place: Path, own_archive: Path
) -> None:
    shown = ""
    try:
        CALLS[call](form, place, own_archive)
    except Exception as error:
        shown = f"{error!r}\n{''.join(traceback.format_exception(error))}"
    # Lines of code have the names of things and no values.
    lines = [line for line in shown.splitlines() if not line.startswith("    ")]
    assert [line for line in lines if MARK in line] == []


class TestInAnObjectStore:
    """What works, with secrets in URLs: nothing of them is kept, neither here nor there."""

    @pytest.fixture
    def secret_url(self, s3_url: str) -> str:
        return s3_url.replace("s3://", f"s3://AKIA:a%2F{MARK}+b@")

    @pytest.fixture
    def objects(self, s3_url: str) -> Callable[[], dict[str, bytes]]:
        from pyarrow import fs

        def content() -> dict[str, bytes]:
            store, root = fs.FileSystem.from_uri(s3_url)
            found = store.get_file_info(fs.FileSelector(root, recursive=True))
            return {
                one.path: store.open_input_file(one.path).read() for one in found if one.is_file
            }

        return content

    def test_exports_and_reads(
        self,
        secret_url: str,
        objects: Callable[[], dict[str, bytes]],
        place: Path,
        own_archive: Path,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        to = secret_url.replace("?", "/exported?")
        base = ["export", "--archive-dir", str(own_archive), "--catalog", sqlite(place), "--to", to]
        codes = [main([*base, *more]) for more in (["1"], ["1", "--json"], ["--check"])]
        said = capfd.readouterr()
        assert codes == [0, 0, 0], said.err
        assert MARK not in said.out + said.err
        assert kept(place) == []
        assert objects()
        assert [name for name, content in objects().items() if MARK.encode() in content] == []

    def test_pipelines(
        self,
        secret_url: str,
        objects: Callable[[], dict[str, bytes]],
        place: Path,
        tmp_path: Path,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        folder = tmp_path / "numbers"
        folder.mkdir()
        builder = RecordingBuilder(stream_id=1)
        for number in range(10):
            builder.add(b'{"n":%d,"word":"x"}' % number)
        builder.write(folder, stopped=True)
        to = secret_url.replace("?", "/lake?")
        job = job_file(place, folder, "to", to)
        report = run_job(load_job(job), HereExecutor())
        assert report.rows == 10
        assert MARK not in str(report) + str(report.to_dict())
        for words in ("status", "status --json", "run --dry-run --json"):
            assert main(["pipeline", *words.split(), str(job)]) == 0
        said = capfd.readouterr()
        assert MARK not in said.out + said.err
        assert kept(place) == []
        assert [name for name, content in objects().items() if MARK.encode() in content] == []

    def test_archives(
        self, secret_url: str, place: Path, own_archive: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        from pyarrow import fs

        url = secret_url.replace("?", "/archive?")
        store, root = fs.FileSystem.from_uri(url)
        fs.copy_files(str(own_archive), root, destination_filesystem=store)
        with RecordingCatalog.open(sqlite(place)) as catalog:
            assert search(catalog, Search()) is not None
        codes = [
            main(["export", "1", "--archive-dir", url, "--to", "out", "--json"]),
            main(["catalog", "sync", "--archive-dir", url, "--catalog", sqlite(place)]),
            main(["catalog", "sql", "--archive", url, "select count(*) from recordings"]),
        ]
        said = capfd.readouterr()
        assert MARK not in said.out + said.err
        assert kept(place) == []
        assert codes[0] == 0, said.err


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/catalog.db"
