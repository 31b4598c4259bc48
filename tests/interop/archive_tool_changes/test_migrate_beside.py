"""``migrate --classic`` beside the reference's, on folders of all earlier layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import damaged_segments as ds
import peer
import pytest
from archive_tool_beside import assert_same
from damaged_archives import cut, put, without
from old_archives import entry_field, make_old, mark_version, with_legacy_catalog

from aerolog.tools.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from damaged_segments import Damage
    from peer.tool_runner import ToolRunner

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

V0, V1, V2 = 0x900, 1 << 16, 2 << 16


def old(version: int, *damages: Damage) -> Damage:
    """A folder of an old version, then damages."""
    return ds.both(lambda folder: make_old(folder, version), *damages)


def field(index: int, form: str, at: int, value: int) -> Damage:
    return lambda folder: entry_field(folder, index, form, at, value)


def legacy(catalog: int | None, mark: int | None, *damages: Damage) -> Damage:
    """The golden folder with an older catalog, mark file or both."""

    def damage(folder: Path) -> None:
        if catalog is not None:
            with_legacy_catalog(folder, catalog)
        if mark is not None:
            mark_version(folder, mark)

    return ds.both(damage, *damages)


FOLDERS: dict[str, Damage] = {
    "this version": legacy(None, None),
    "3.0.0": legacy(None, 3 << 16),
    "a later version": legacy(None, 4 << 16),
    "2.0.0": legacy(V2, V2),
    "1.0.0 with terms as long as segments": legacy(V1, V1),
    "0.9.0 that cannot be renamed": legacy(V0, V0),
    "catalog ahead": legacy(None, V2),
    "mark file ahead": legacy(V2, None),
    "begun before": legacy(V2, V2, ds.added("migration-131072-to-196608.dat")),
    "left over": legacy(V2, V2, ds.added("archive.catalog.updated")),
    "no mark file": legacy(V2, None, without("archive-mark.dat")),
    "no catalog": without("archive.catalog"),
    "short catalog": cut("archive.catalog", 20),
    "0.9.0": old(V0),
    "1.0.0": old(V1),
    "1.0.0 without conflict": old(V1, ds.removed("2-262144.rec")),
    "1.2.3": old(0x10203),
    "2.0.1": old(0x20001),
    "1.0.0 with other states": old(V1, field(1, "i", 4, 0), field(2, "i", 4, 2)),
    "0.9.0 with other states": old(V0, field(1, "i", 4, 0), field(2, "i", 4, 2)),
    "1.0.0 with bad names": old(V1, ds.added("1-abc.rec", "0-.rec", "3--5.rec")),
    "0.9.0 with bad names": old(V0, ds.added("1-abc.rec", "0-.rec", "3--5.rec")),
    "0.9.0 with a great number": old(V0, ds.added("0-99999999999.rec")),
    "1.0.0 with a name without id": old(V1, ds.added("foo-1.rec")),
    "1.0.0 with a bad term length": old(V1, field(1, "i", 96, 1000)),
    "0.9.0 with a bad segment length": old(V0, field(1, "i", 92, 1000)),
    "2.0.0 cut off": old(V2, cut("archive.catalog", 3000)),
    "2.0.0 with an id twice": old(V2, field(1, "q", 48, 0)),
    "2.0.0 with another next id": old(V2, put("archive.catalog", "q", 8, 9)),
    "2.0.0 with a longer entry": old(V2, field(1, "i", 0, 900)),
    "2.0.0 with an entry over two": old(V2, field(1, "i", 0, 1400)),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_old_folders_become_the_same(name: str, runner: ToolRunner, folder: Path) -> None:
    assert_same(runner, folder, ["migrate"], damage=FOLDERS[name], stdin="y\n")


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_without_a_yes_nothing_is_done(answer: str, runner: ToolRunner, folder: Path) -> None:
    done = assert_same(runner, folder, ["migrate"], damage=old(V1), stdin=answer)
    assert "migration-65536-to-131072.dat" not in done.files


def test_where_the_reference_is_in_its_own_way_recordings_upgrade_is_not(
    runner: ToolRunner, folder: Path
) -> None:
    make_old(folder, V1)
    assert main(["recordings", "upgrade", "--archive-dir", str(folder), "--yes"]) == 0
    # Every frame is where its recording has it, says the reference.
    said = runner.archive_tool(folder, "verify", "-a")
    assert said.out.splitlines() == [f"(recordingId={number}) OK" for number in range(4)]
    assert peer.archive_tool(folder, "count-entries").strip() == "4"
