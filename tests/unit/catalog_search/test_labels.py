"""Tags and names: given, taken away, kept in the folder, refused when they make no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aerolog.catalog.index import RecordingCatalog, rebuild
from aerolog.catalog.index.errors import LabelError
from aerolog.catalog.index.labels import LabelledRecording, label, resolve
from aerolog.catalog.index.recording_details import details
from aerolog.catalog.index.search import Search, search

if TYPE_CHECKING:
    from pathlib import Path


def labels(catalog: RecordingCatalog) -> list[tuple[dict[str, str], tuple[str, ...]]]:
    return [(dict(one.tags), one.names) for one in search(catalog, Search(order="id"))]


def test_tags_and_a_name_are_given(local: RecordingCatalog, folder: Path) -> None:
    label(local, folder, [0, 2], tags={"carrier": "AA", "note": "a = b, 'c' % 100"})
    label(local, folder, [2], name="first flight")

    tags = {"carrier": "AA", "note": "a = b, 'c' % 100"}
    assert labels(local) == [(tags, ()), ({}, ()), (tags, ("first flight",))]


def test_what_is_given_again_replaces_what_was_there(local: RecordingCatalog, folder: Path) -> None:
    label(local, folder, [1], tags={"a": "1", "b": "2"})
    label(local, folder, [1], tags={"a": "3"}, untag=["b", "never"])

    assert labels(local)[1] == ({"a": "3"}, ())


def test_a_name_is_moved_only_when_that_is_asked_for(local: RecordingCatalog, folder: Path) -> None:
    label(local, folder, [0], name="best")
    with pytest.raises(LabelError, match="recording 0 of .* has the name 'best'"):
        label(local, folder, [1], name="best", tags={"a": "b"})
    assert labels(local) == [({}, ("best",)), ({}, ()), ({}, ())]

    label(local, folder, [1], name="best", move=True)
    assert labels(local) == [({}, ()), ({}, ("best",)), ({}, ())]

    label(local, folder, [1], unname=["best"])
    assert labels(local) == [({}, ()), ({}, ()), ({}, ())]


def test_labels_outlive_their_database(local: RecordingCatalog, folder: Path) -> None:
    label(local, folder, [0], tags={"carrier": "AA"}, name="first")
    label(local, folder, [1], tags={"carrier": "LH"})
    label(local, folder, [1], untag=["carrier"])
    before = labels(local)

    with RecordingCatalog.open(f"sqlite:///{folder}/../other.db") as other:
        rebuild(other, folder)
        assert labels(other) == before == [({"carrier": "AA"}, ("first",)), ({}, ()), ({}, ())]


def test_a_recording_is_found_by_id_and_by_name(local: RecordingCatalog, folder: Path) -> None:
    label(local, folder, [2], name="best")

    there = LabelledRecording(str(folder), 2)
    assert resolve(local, 2) == resolve(local, "2") == resolve(local, "best") == there
    assert resolve(local, "best", str(folder)) == there


@pytest.mark.parametrize("wanted", ["9", "nobody", "best%", "9" * 40, "' OR 1=1 --"])
def test_a_recording_that_is_not_there_is_named(wanted: str, local: RecordingCatalog) -> None:
    with pytest.raises(LabelError, match="recording"):
        resolve(local, wanted)


def test_all_is_shown_of_a_recording(local: RecordingCatalog, folder: Path) -> None:
    label(local, folder, [1], tags={"carrier": "AA"}, name="first")

    shown = details(local, resolve(local, "first"))

    assert (shown["place"], shown["recording_id"], shown["stream_id"]) == (str(folder), 1, 1001)
    assert (shown["tags"], shown["names"]) == ({"carrier": "AA"}, ["first"])
    assert [segment["size_bytes"] for segment in shown["segments"]] == [65536]
    assert (shown["exports"], shown["lineage"], shown["marks"], shown["holds"]) == ([], [], [], [])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"recording_ids": [7], "tags": {"a": "b"}}, "no recording 7"),
        ({"recording_ids": [2**63], "tags": {"a": "b"}}, "no recording 9223372036854775808"),
        ({"recording_ids": [-1], "tags": {"a": "b"}}, "no recording -1"),
        ({"tags": {"": "b"}}, "neither empty"),
        ({"tags": {" a": "b"}}, "neither empty"),
        ({"tags": {"a=b": "c"}}, "no ="),
        ({"tags": {"a\nb": "c"}}, "no control characters"),
        ({"tags": {"a": "\0"}}, "NUL and lone surrogates"),
        ({"tags": {"a": "b" * 4097}}, "4097 characters, 4096 are allowed"),
        ({"tags": {"a" * 129: "b"}}, "129 characters, 128 are allowed"),
        ({"name": "17"}, "taken for a recording id"),
        ({"name": "\ud800"}, "NUL and lone surrogates"),
        ({"name": ""}, "neither empty"),
        ({"recording_ids": [0, 1], "name": "both"}, "of one recording, not of 2"),
    ],
    ids=str,
)
def test_a_label_that_makes_no_sense_changes_nothing(
    given: dict[str, Any], said: str, local: RecordingCatalog, folder: Path
) -> None:
    ids = given.pop("recording_ids", [0])

    with pytest.raises(LabelError, match=said):
        label(local, folder, ids, **given)

    assert labels(local) == [({}, ())] * 3
    assert not (folder / "aerolog-catalog.journal").exists()


def test_an_archive_that_was_never_synced_is_named(local: RecordingCatalog, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    with pytest.raises(LabelError, match="run: aerolog catalog sync --archive-dir"):
        label(local, other, [0], tags={"a": "b"})
