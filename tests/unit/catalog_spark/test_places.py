"""Archive folders by path, by URL, in an object store; what is kept of it here, and what is not."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import fs

from aerolog.archive.format.archive_folder import ArchiveFolder
from aerolog.catalog import object_store
from aerolog.catalog.arrow.arrow_recording import record_batches
from aerolog.catalog.arrow.dataset import ArchiveDataset
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.labels import label
from aerolog.catalog.locations import (
    Choice,
    PlacedRecording,
    PlaceUnreachableError,
    is_catalog_url,
    local_folder,
    open_place,
    recordings_of,
)
from aerolog.catalog.object_store import ObjectFiles, Objects
from aerolog.catalog.spark.filters import RowBounds
from aerolog.catalog.spark.options import parse_options
from aerolog.catalog.spark.partitions import plan
from aerolog.testing.recordings import RecordingBuilder
from aerolog.transport.errors import (
    ArchiveError,
    ArchiveErrorCode,
    ConfigurationError,
    RecordingDamagedError,
)
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from aerolog.archive.format.archive_folder import Recording

TERM = 64 * 1024


def rows(recording: Recording) -> int:
    return sum(batch.num_rows for batch in record_batches(recording))


def test_a_path_and_its_url_are_one_place(folder: Path) -> None:
    spaced = folder.rename(folder.with_name("an archive"))
    for place in (str(spaced), f"file://{str(spaced).replace(' ', '%20')}"):
        with open_place(place) as archive:
            assert archive.catalog.ids() == [0, 1]
        assert recordings_of(place) == [PlacedRecording(place, 0), PlacedRecording(place, 1)]


@pytest.mark.parametrize(
    ("text", "is_catalog"),
    [
        ("sqlite:///a/b.db", True),
        ("postgresql+psycopg://user@host/db", True),
        ("s3://bucket/a", False),
        ("/a/sqlite:", False),
        ("relative/folder", False),
    ],
)
def test_catalogs_are_told_from_places(text: str, is_catalog: bool) -> None:
    assert is_catalog_url(text) == is_catalog


def test_object_stores_have_no_folder_here() -> None:
    assert local_folder("s3://bucket/a") is None
    assert local_folder("a:b") == "a:b"


def test_what_is_no_place_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="no place of an archive"):
        open_place("gopher://host/a")
    with pytest.raises(ConfigurationError, match="is a database of recordings"):
        open_place(f"sqlite:///{folder}/aerolog-catalog.db")
    with pytest.raises(FileNotFoundError):
        open_place(str(folder / "nothing"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://key:secret@bucket/a?region=x&secret_key=y", "s3://bucket/a?region=x"),
        ("postgresql://me:pw@host/db", "postgresql://host/db"),
        ("s3://bucket/a", "s3://bucket/a"),
        ("/a/b@c", "/a/b@c"),
    ],
)
def test_secrets_are_not_shown(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


def test_a_store_that_does_not_answer_is_named_without_secrets() -> None:
    url = "s3://key:secret@bucket/a?endpoint_override=127.0.0.1:1&scheme=http&region=us-east-1"
    with pytest.raises(PlaceUnreachableError) as caught:
        open_place(url)
    assert "secret" not in str(caught.value)
    assert "s3://bucket/a" in str(caught.value)


def test_a_choice_looks_at_what_descriptors_tell(folder: Path) -> None:
    def ids(**choice: object) -> list[int]:
        found = recordings_of(str(folder), Choice(**choice))  # type: ignore[arg-type]
        return [each.recording_id for each in found]

    assert ids() == [0, 1]
    assert ids(stream_id=6) == [1]
    assert ids(session_ids=(-5,)) == [0]
    assert ids(recording_ids=(1,)) == [1]
    assert ids(recording_ids=(1,), stream_id=7) == []
    assert ids(recording_ids=(1, 9), allow_unknown=True) == [1]
    assert ids(channel="ipc") == [0, 1]
    assert ids(since_ms=1_700_000_001_001) == []
    assert ids(until_ms=1_700_000_000_000) == []


def test_a_catalog_finds_by_tag_name_and_session(folder: Path) -> None:
    with RecordingCatalog.open(archive_dir=folder) as catalog:
        sync_folder(catalog, folder)
        label(catalog, folder, [1], tags={"desk": "fx"}, name="morning")
    url = f"sqlite:///{folder}/aerolog-catalog.db"
    assert recordings_of(url) == [PlacedRecording(str(folder), number) for number in (0, 1)]
    for choice in (Choice(tags={"desk": "fx"}), Choice(name="morning"), Choice(session_ids=(-6,))):
        assert recordings_of(url, choice) == [PlacedRecording(str(folder), 1)]


def objects(folder: Path) -> Objects:
    return Objects(fs.LocalFileSystem(), str(folder), "tests")


@pytest.fixture
def copy(folder: Path) -> ObjectFiles:
    """The folder as an object store shows it."""
    return ObjectFiles(objects(folder), cache_bytes=2 * TERM)


def test_a_copy_in_a_store_reads_as_the_folder(folder: Path, copy: ObjectFiles) -> None:
    with ArchiveFolder(folder) as here, ArchiveFolder(str(folder), copy) as there:
        for recording_id in (0, 1):
            assert rows(there.recording(recording_id)) == rows(here.recording(recording_id)) == 4000
            assert there.segment_names(recording_id) == here.segment_names(recording_id)


def test_an_active_recording_ends_where_its_frames_do(folder: Path) -> None:
    from aerolog.testing.recordings import RecordingBuilder

    builder = RecordingBuilder()
    for _ in range(10):
        builder.add(b"x")
    recording_id = builder.write(folder, stopped=False)
    files = ObjectFiles(objects(folder))
    with ArchiveFolder(str(folder), files) as there:
        assert there.recording(recording_id).end_position == builder.position


def test_what_is_kept_is_bounded_and_has_no_names(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    copy = ObjectFiles(objects(folder), cache_bytes=2 * TERM, cache_dir=str(cache))
    with ArchiveFolder(str(folder), copy) as there:
        for recording in there.recordings():
            assert rows(recording) == 4000
            assert copy.cached_bytes <= 2 * TERM
            assert list(cache.iterdir()) == []
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    copy.close()
    gc.collect()
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) < before


def test_a_mapping_outlives_its_place_in_the_cache(folder: Path, copy: ObjectFiles) -> None:
    first = copy.open_mapped(str(folder / "0-0.rec"), writable=False)
    for base in range(TERM, 4 * TERM, TERM):
        copy.open_mapped(str(folder / f"0-{base}.rec"), writable=False)
    copy.close()
    assert bytes(first.view(0, 64)) == (folder / "0-0.rec").read_bytes()[:64]


def test_a_segment_that_is_not_in_the_store_is_named(folder: Path, copy: ObjectFiles) -> None:
    (folder / f"0-{TERM}.rec").unlink()
    with ArchiveFolder(str(folder), copy) as there:
        recording = there.recording(0)
        with pytest.raises(RecordingDamagedError, match=f"position {TERM} of recording 0"):
            rows(recording)


def test_nothing_is_written_and_nothing_outside_is_seen(folder: Path, copy: ObjectFiles) -> None:
    inside = str(folder / "archive.catalog")
    for action in (
        lambda: copy.remove(inside),
        lambda: copy.write_bytes(inside, b""),
        lambda: copy.open_mapped(inside),
        lambda: copy.open_data_file(inside, create=True),
    ):
        with pytest.raises(PermissionError, match="is only read"):
            action()
    assert not copy.exists(str(folder.parent))
    with pytest.raises(FileNotFoundError):
        copy.read_bytes("/etc/hostname")
    with pytest.raises(TypeError, match="open the place again"):
        pickle.dumps(copy)


@pytest.mark.parametrize("in_catalog", [False, True])
def test_an_id_that_no_recording_has_is_an_error_unless_asked_for(
    folder: Path, in_catalog: bool
) -> None:
    place = str(folder)
    if in_catalog:
        place = f"sqlite:///{folder}/aerolog-catalog.db"
        with RecordingCatalog.open(place) as catalog:
            sync_folder(catalog, folder)
    with pytest.raises(ArchiveError, match=r"unknown recording ids: 9, 12 in .*") as caught:
        recordings_of(place, Choice(recording_ids=(1, 9, 12)))
    assert caught.value.code == ArchiveErrorCode.UNKNOWN_RECORDING
    (found,) = recordings_of(place, Choice(recording_ids=(1, 9), allow_unknown=True))
    assert found.recording_id == 1
    with pytest.raises(ArchiveError, match="unknown recording id: 9 in"):
        plan(parse_options({"archive": place, "recordings": "1,9"}), RowBounds())
    lenient = {"archive": place, "recordings": "1,9", "unknownRecordings": "skip"}
    assert plan(parse_options(lenient), RowBounds())


def test_a_dataset_of_archives_wants_each_id_in_one_of_them(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    RecordingBuilder().write(other)
    both = [folder, other]
    assert ArchiveDataset(both, Choice(recording_ids=(1,))).count_rows() > 0
    with pytest.raises(ArchiveError, match="unknown recording id: 9 in"):
        ArchiveDataset(both, Choice(recording_ids=(0, 9))).count_rows()
    assert ArchiveDataset(both).count_rows([("recording_id", "==", 9)]) == 0


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ("import os; os.abort()", "Azure gives no access"),
        ("raise SystemExit('no credential is there')", "default credential: no credential is"),
    ],
)
def test_azure_without_credentials_ends_no_process(
    probe: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its library aborts the process that asks: another one asks first."""
    monkeypatch.setattr(object_store, "_PROBE", probe)
    url = f"abfs://container@127.0.0.1:1/{len(probe)}"
    with pytest.raises(PlaceUnreachableError, match=said):
        open_place(url)


@pytest.mark.parametrize("place", ["file:///tmp/a%00b", "/tmp/a\0b"])
def test_a_path_with_a_zero_byte_is_refused(place: str) -> None:
    with pytest.raises(ConfigurationError, match="zero byte"):
        local_folder(place)
