"""An archive reserves the room that retention needs on a full disk, from its start on."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from archive_rig import Rig

from aerolog.archive.retention.retention_folder import RESERVE_LENGTH, folder_path, reserve_path
from aerolog.testing import FakeFileSystem

if TYPE_CHECKING:
    from aerolog.transport.memory.data_file import DataFile

FOLDER = "/archive"
RESERVE = reserve_path(FOLDER)
WARNING = "no room is reserved for retention"


def restarted(rig: Rig) -> Rig:
    """Another driver and archive on the same disk."""
    rig.close()
    return Rig(disk=rig.disk)


def warnings(rig: Rig) -> list[str]:
    return [text for text in rig.errors() if WARNING in text]


class FullDisk(FakeFileSystem):
    """Has room for whatever there is already and for the driver, but for no reserve."""

    def open_data_file(self, path: str, **how: bool) -> DataFile:
        if path == RESERVE and not self.exists(path) and self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return super().open_data_file(path, **how)

    is_full = False


def test_a_start_reserves_room_once(rig: Rig) -> None:
    assert rig.disk.size(RESERVE) == RESERVE_LENGTH
    again = restarted(rig)
    assert rig.disk.size(RESERVE) == RESERVE_LENGTH
    assert warnings(again) == []
    again.close()


def test_a_start_replaces_a_reserve_that_is_gone_or_cut(rig: Rig) -> None:
    rig.disk.remove(RESERVE)
    again = restarted(rig)
    assert rig.disk.size(RESERVE) == RESERVE_LENGTH
    with rig.disk.open_data_file(RESERVE, writable=True) as file:
        file.set_length(1000)
    last = restarted(again)
    assert rig.disk.size(RESERVE) == RESERVE_LENGTH
    last.close()


def test_a_start_on_a_full_disk_without_a_reserve_says_so_and_goes_on(make_rig) -> None:
    rig = make_rig(disk=FullDisk())
    rig.disk.is_full = True
    kept = restarted(rig)
    assert warnings(kept) == []
    rig.disk.remove(RESERVE)
    again = restarted(kept)
    assert not rig.disk.exists(RESERVE)
    (warning,) = warnings(again)
    assert "No space left on device" in warning
    assert again.connect() != 0
    again.close()


def test_an_archive_starts_where_retention_cannot_have_a_folder(make_rig) -> None:
    rig = make_rig()
    rig.disk.remove_tree(folder_path(FOLDER))
    rig.disk.write_bytes(folder_path(FOLDER), b"no folder")
    again = restarted(rig)
    assert len(warnings(again)) == 1
    again.close()
