"""The catalog changes before the files do: a crash in between leaves whole recordings."""

from __future__ import annotations

import errno

import pytest

from aerolog.archive import protocol as ap

SEGMENT = 64 * 1024
FRAME = 1024
PER_SEGMENT = 64
CATALOG = "archive.catalog"


def kinds_of(noted: list[tuple[str, str]], *names: str) -> list[str]:
    return [f"{kind} {name}" for kind, name in noted if name in names]


def first_store(rig) -> int:
    return next(i for i, (_, name) in enumerate(rig.disk.noted) if name == CATALOG)


def first_change(rig) -> int:
    return next(i for i, (_, name) in enumerate(rig.disk.noted) if ".rec" in name)


@pytest.mark.parametrize(
    ("request_class", "fields"),
    [
        (ap.TruncateRecordingRequest, {"position": SEGMENT + FRAME}),
        (ap.TruncateRecordingRequest, {"position": SEGMENT}),
        (ap.TruncateRecordingRequest, {"position": 0}),
        (ap.PurgeRecordingRequest, {}),
        (ap.PurgeSegmentsRequest, {"new_start_position": 2 * SEGMENT}),
    ],
)
def test_the_catalog_is_first(rig, request_class, fields) -> None:
    rig.recorded(3 * PER_SEGMENT)
    rig.ask(request_class, recording_id=0, **fields)
    rig.deleted(0)
    assert first_store(rig) < first_change(rig)


def test_a_recording_that_moves_has_all_its_files_at_every_moment(rig) -> None:
    rig.recorded(2 * PER_SEGMENT)
    rig.recorded(1, position=2 * SEGMENT)
    rig.ask(ap.MigrateSegmentsRequest, src_recording_id=0, dst_recording_id=1)
    rig.deleted(0)
    files = [found for found in rig.disk.noted if ".rec" in found[1]]
    assert files == [
        ("link", "1-0.rec"),
        ("link", f"1-{SEGMENT}.rec"),
        ("remove", "0-0.rec"),
        ("remove", f"0-{SEGMENT}.rec"),
        ("remove", f"0-{2 * SEGMENT}.rec"),
    ]
    linked = rig.disk.noted.index(files[1])
    removed = rig.disk.noted.index(files[2])
    assert linked < first_store(rig) < removed
    assert not any(name == CATALOG for _, name in rig.disk.noted[removed:])


def test_segments_move_where_files_have_one_name_only(rig, monkeypatch) -> None:
    def no_links(_source: str, _target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    rig.recorded(2 * PER_SEGMENT)
    rig.recorded(1, position=2 * SEGMENT)
    monkeypatch.setattr(rig.disk, "link", no_links)
    assert rig.ask(ap.MigrateSegmentsRequest, src_recording_id=0, dst_recording_id=1) == 2
    rig.deleted(0)
    assert rig.disk.segments() == ["1-0.rec", f"1-{2 * SEGMENT}.rec", f"1-{SEGMENT}.rec"]
    assert (rig.start_position(1), rig.stop_position(0)) == (0, 0)


@pytest.mark.parametrize("have_links", [True, False])
def test_all_segments_move_or_none(rig, monkeypatch, have_links: bool) -> None:
    def link(source: str, target: str) -> None:
        if not have_links:
            raise OSError(errno.EPERM, "Operation not permitted")
        if target == f"/archive/1-{SEGMENT}.rec":
            raise OSError(errno.EIO, "Input/output error")
        links(source, target)

    def rename(source: str, target: str) -> None:
        if target == f"/archive/1-{SEGMENT}.rec":
            raise OSError(errno.EIO, "Input/output error")
        renames(source, target)

    rig.recorded(3 * PER_SEGMENT)
    rig.recorded(1, position=3 * SEGMENT)
    before = rig.disk.segments()
    links, renames = rig.disk.link, rig.disk.rename
    monkeypatch.setattr(rig.disk, "link", link)
    monkeypatch.setattr(rig.disk, "rename", rename)
    code, text = rig.refused(ap.MigrateSegmentsRequest, src_recording_id=0, dst_recording_id=1)
    assert code == 0
    assert text.startswith(f"failed to rename /archive/0-{SEGMENT}.rec to /archive/1-{SEGMENT}.rec")
    assert rig.disk.segments() == before
    assert (rig.start_position(1), rig.stop_position(0)) == (3 * SEGMENT, 3 * SEGMENT)


def test_a_position_inside_a_frame_changes_nothing(rig) -> None:
    rig.recorded(2 * PER_SEGMENT)
    before = rig.disk.read_bytes(f"/archive/0-{SEGMENT}.rec")
    assert rig.refused(ap.TruncateRecordingRequest, recording_id=0, position=SEGMENT + 32) == (
        0,
        f"{SEGMENT + 32} position not aligned to a data header",
    )
    assert rig.disk.noted == []
    assert rig.stop_position(0) == 2 * SEGMENT
    assert rig.disk.read_bytes(f"/archive/0-{SEGMENT}.rec") == before


def test_a_missing_segment_is_told_before_anything_changes(rig) -> None:
    rig.recorded(2 * PER_SEGMENT)
    rig.disk.remove(f"/archive/0-{SEGMENT}.rec")
    code, text = rig.refused(ap.TruncateRecordingRequest, recording_id=0, position=SEGMENT + FRAME)
    assert (code, text) == (0, f"segment file 0-{SEGMENT}.rec does not exist")
    assert rig.stop_position(0) == 2 * SEGMENT


@pytest.mark.parametrize(("level", "is_synced"), [(0, False), (1, True), (2, True)])
def test_cuts_and_moves_are_made_durable_as_configured(make_rig, level, is_synced) -> None:
    rig = make_rig(file_sync_level=level)
    rig.recorded(2 * PER_SEGMENT)
    rig.recorded(1, position=2 * SEGMENT)
    rig.disk.noted.clear()
    rig.ask(ap.MigrateSegmentsRequest, src_recording_id=0, dst_recording_id=1)
    rig.deleted(0)
    rig.ask(ap.TruncateRecordingRequest, recording_id=1, position=SEGMENT + FRAME)
    rig.deleted(1)
    assert (("sync", f"1-{SEGMENT}.rec") in rig.disk.noted) is is_synced
    catalog = kinds_of(rig.disk.noted, CATALOG)
    assert any(line.startswith("sync") for line in catalog) is is_synced
