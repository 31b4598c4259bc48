"""Recordings that were exported and are purged, truncated or extended then: no row is destroyed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pipelines_here import lengthen, write_segments

from aerolog.archive.format.catalog_file import CatalogFile
from aerolog.catalog.export import (
    MANIFEST_NAME,
    TargetMismatchError,
    check_export,
    export_parquet,
    export_recordings,
)
from aerolog.catalog.export.manifest import Manifest
from aerolog.catalog.export.store import FolderStore
from aerolog.testing.recordings import RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from aerolog.catalog.export import ExportReport

MESSAGES = [b"m%d" % index * (index % 200) for index in range(900)]
SIZES: dict[str, Any] = {"file_length": 64 * 1024, "row_group_length": 64 * 1024}
LAYOUTS = pytest.mark.parametrize("keys", [(), ("recording_id",)], ids=["whole", "parts"])
CUT = 500


def filled(messages: list[bytes], **options: Any) -> RecordingBuilder:
    builder = RecordingBuilder(**options)
    for message in messages:
        builder.add(message)
    return builder


@pytest.fixture
def archive(empty_archive: Path) -> Path:
    filled(MESSAGES).write(empty_archive)
    return empty_archive


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def run(archive: Path, out: Path, keys: tuple[str, ...], **options: Any) -> ExportReport:
    return export_parquet(archive, None, out, partition_by=keys, **SIZES, **options)


def files(out: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in out.rglob("*.parquet")}


def payloads(out: Path) -> list[bytes]:
    return [
        value.as_py()
        for path in sorted(out.rglob("*.parquet"))
        for value in pq.ParquetFile(path).read(["payload"])["payload"]
    ]


def purge(archive: Path, until: int = 65536) -> None:
    with CatalogFile.open(archive, capacity=4096) as catalog:
        catalog.update_start_position(0, until)
    for base in range(0, until, 65536):
        (archive / f"0-{base}.rec").unlink()


def truncate(archive: Path) -> int:
    """Cut the recording behind some message; returns where."""
    position = filled(MESSAGES[:CUT]).position
    with CatalogFile.open(archive, capacity=4096) as catalog:
        catalog.update_stop_position(0, position)
    return position


def extend(archive: Path, messages: list[bytes]) -> None:
    """Let the recording go on, in a session of its own, up to some messages in all."""
    builder = filled(MESSAGES[:CUT])
    builder.session_id = 2002
    for message in messages[CUT:]:
        builder.add(message)
    lengthen(archive, 0, builder)


def grow(archive: Path, more: list[bytes]) -> None:
    lengthen(archive, 0, filled([*MESSAGES, *more]))


@LAYOUTS
def test_what_was_exported_outlives_a_purge(
    archive: Path, out: Path, keys: tuple[str, ...]
) -> None:
    run(archive, out, keys)
    before = files(out)
    purge(archive)
    for _ in range(2):
        report = run(archive, out, keys)
        assert report.complete
        assert files(out) == before
    assert check_export(out).sound
    assert payloads(out) == MESSAGES


def test_a_whole_file_is_not_replaced_by_one_that_lacks_what_was_purged(
    archive: Path, out: Path
) -> None:
    run(archive, out, ())
    before = files(out)
    grow(archive, [b"more"] * 50)
    purge(archive)
    for _ in range(2):
        (result,) = run(archive, out, ()).results
        assert result.damage is not None
        assert "recording 0 was purged up to position 65536 since it was exported" in result.damage
        assert result.rows == len(MESSAGES)
        assert files(out) == before
    assert check_export(out).sound
    assert run(archive, out, (), replace=True).complete
    assert 0 < len(payloads(out)) < len(MESSAGES) + 50


def test_a_partitioned_export_goes_on_behind_a_purge(archive: Path, out: Path) -> None:
    run(archive, out, ("recording_id",))
    before = files(out)
    grow(archive, [b"more"] * 50)
    purge(archive)
    assert run(archive, out, ("recording_id",)).complete
    assert before.items() < files(out).items()
    assert payloads(out) == [*MESSAGES, *[b"more"] * 50]


@LAYOUTS
def test_what_was_exported_outlives_a_truncation(
    archive: Path, out: Path, keys: tuple[str, ...]
) -> None:
    run(archive, out, keys)
    before = files(out)
    end = truncate(archive)
    for _ in range(2):
        (result,) = run(archive, out, keys).results
        assert result.damage is not None
        assert f"ends at position {end} and was exported up to" in result.damage
        assert "; export it to another target" in result.damage
        assert true_until(result.damage) <= end
        assert "or replace what was exported (--replace)" in result.damage
        assert files(out) == before
    assert check_export(out).sound


def true_until(damage: str) -> int:
    """The position up to which a report says that the files are true."""
    return int(damage.partition("known to be true up to ")[2].partition(";")[0])


@LAYOUTS
def test_a_history_that_changed_and_ends_before_the_files_says_what_is_true(
    archive: Path, out: Path, keys: tuple[str, ...]
) -> None:
    run(archive, out, keys)
    grow(archive, MESSAGES)
    if keys:
        run(archive, out, keys)
    before = files(out)
    end = truncate(archive)
    extend(archive, [b"x%d" % index for index in range(20)])
    (result,) = run(archive, out, keys).results
    assert result.damage is not None
    assert "it was truncated" in result.damage
    known = true_until(result.damage)
    assert known <= end < known + 65536 or not keys
    assert files(out) == before


@LAYOUTS
@pytest.mark.parametrize("count", [len(MESSAGES), len(MESSAGES) + 300], ids=["as-far", "farther"])
@pytest.mark.parametrize("decoder", [None, "text"])
@pytest.mark.parametrize("length", [200, 331], ids=["same-frames", "other-frames"])
def test_a_history_that_changed_is_told_and_nothing_is_mixed(
    archive: Path, out: Path, keys: tuple[str, ...], count: int, decoder: str | None, length: int
) -> None:
    run(archive, out, keys, decoder=decoder)
    before = files(out)
    end = truncate(archive)
    extend(archive, [b"x%d" % index * (index % length) for index in range(count)])
    for _ in range(2):
        (result,) = run(archive, out, keys, decoder=decoder).results
        assert result.damage is not None
        assert "was truncated and extended since it was exported" in result.damage
        assert "export it to another target" in result.damage
        assert "or replace what was exported (--replace)" in result.damage
        known = int(result.damage.partition("behind position ")[2].split()[0])
        assert known <= end < known + 65536 or not keys
        assert files(out) == before
    assert check_export(out).sound


def test_damage_is_not_taken_for_another_history(archive: Path, out: Path) -> None:
    grown = [*MESSAGES, *[b"more"] * 50]
    run(archive, out, ("recording_id",))
    before = files(out)
    end = filled(MESSAGES[:-1]).position
    grow(archive, [b"more"] * 50)
    segment = archive / f"0-{end // 65536 * 65536}.rec"
    sound = segment.read_bytes()
    at = end % 65536  # where the last frame that was exported begins
    segment.write_bytes(sound[:at] + b"\xff" * 32 + sound[at + 32 :])
    (result,) = run(archive, out, ("recording_id",)).results
    assert "truncated" not in str(result.damage)
    segment.write_bytes(sound)
    assert run(archive, out, ("recording_id",)).complete
    assert before.items() <= files(out).items()
    assert payloads(out) == grown


@LAYOUTS
def test_an_extension_alone_is_exported(archive: Path, out: Path, keys: tuple[str, ...]) -> None:
    truncate(archive)
    write_segments(archive, 0, filled(MESSAGES[:CUT]))
    run(archive, out, keys)
    assert payloads(out) == MESSAGES[:CUT]
    extend(archive, MESSAGES)
    assert run(archive, out, keys).complete
    assert payloads(out) == MESSAGES
    assert check_export(out).sound


def test_another_recording_of_the_same_id_does_not_replace_a_file(
    archive: Path, out: Path, tmp_path: Path
) -> None:
    run(archive, out, ())
    before = files(out)
    other = tmp_path / "other"
    other.mkdir()
    filled([b"other"], stream_id=77).write(other)
    with pytest.raises(TargetMismatchError, match="recording 0 is another one than that in"):
        run(other, out, ())
    assert files(out) == before
    with pytest.raises(TargetMismatchError, match="--replace"):
        run(other, out, ())
    export_recordings(other, None, out)  # replaces what is there, as it says
    assert payloads(out) == [b"other"]


@LAYOUTS
@pytest.mark.parametrize("decoder", [None, "text"])
def test_what_was_exported_is_replaced_on_purpose(
    archive: Path, out: Path, tmp_path: Path, keys: tuple[str, ...], decoder: str | None
) -> None:
    run(archive, out, keys, decoder=decoder)
    truncate(archive)
    extend(archive, [b"x%d" % index * (index % 200) for index in range(len(MESSAGES) // 2)])
    assert not run(archive, out, keys, decoder=decoder).complete
    assert not check_export(out).complete
    assert run(archive, out, keys, decoder=decoder, replace=True).complete
    report = check_export(out)
    assert (report.sound, report.complete) == (True, True)
    run(archive, tmp_path / "fresh", keys, decoder=decoder)
    assert contents(out) == contents(tmp_path / "fresh")
    assert run(archive, out, keys, decoder=decoder).complete
    assert contents(out) == contents(tmp_path / "fresh")


def contents(out: Path) -> dict[str, bytes]:
    """All files of a target by their relative paths, the manifest too."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.suffix in {".parquet", ".json"}
    }


def test_a_replacement_that_is_killed_is_finished_by_the_next_run(
    archive: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ("recording_id",)
    run(archive, out, keys)
    truncate(archive)
    extend(archive, [b"x%d" % index * (index % 200) for index in range(len(MESSAGES) // 2)])
    run(archive, tmp_path / "fresh", keys)
    removals = len(files(out))
    assert removals > 2

    class KilledError(Exception):
        pass

    for at in range(1, removals + 1):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(out, tmp_path / "copy")
        left = [at]

        def remove(self: FolderStore, path: str, left: list[int] = left) -> None:
            left[0] -= 1
            if not left[0]:
                raise KilledError
            (self._root / path).unlink()

        with monkeypatch.context() as patched:
            patched.setattr(FolderStore, "remove", remove)
            with pytest.raises(KilledError):
                run(archive, tmp_path / "copy", keys, replace=True)
        assert run(archive, tmp_path / "copy", keys).complete
        assert contents(tmp_path / "copy") == contents(tmp_path / "fresh")
        assert check_export(tmp_path / "copy").sound


def test_rejects_of_a_file_that_is_replaced_are_removed(archive: Path, out: Path) -> None:
    segment = archive / "0-65536.rec"
    sound = segment.read_bytes()
    segment.unlink()
    assert run(archive, out, (), skip_damage=True).complete
    assert (out / "_rejects" / "recording-0.parquet").exists()
    segment.write_bytes(sound)
    assert run(archive, out, (), replace=True).complete
    assert not (out / "_rejects" / "recording-0.parquet").exists()
    assert check_export(out).complete
    assert payloads(out) == MESSAGES


def test_a_manifest_cannot_have_files_outside_of_its_target_removed(
    archive: Path, out: Path, tmp_path: Path
) -> None:
    run(archive, out, ())
    precious = tmp_path / "precious"
    precious.write_text("kept")
    manifest = Manifest.load(FolderStore(out))
    assert manifest is not None
    manifest.dropped.add("../precious")
    (out / MANIFEST_NAME).write_bytes(manifest.to_bytes())
    assert run(archive, out, ()).complete
    assert precious.exists()
