"""What crashes leave, after our archive has started on it, as the reference's tool sees it."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

import pytest
from archive_crashes import points_of, state_at, ways_of
from crash_disk import write_state
from crash_scripts import SCRIPTS, Aftermath, Setting
from peer.tools import archive_tool

from aerolog.archive.format.catalog_map import CatalogReader

if TYPE_CHECKING:
    from pathlib import Path


TERM = 65536
SAMPLE = 4  # crashes of a script


def stop_positions(folder: Path) -> dict[int, int]:
    with CatalogReader.open(folder) as catalog:
        return {d.recording_id: d.stop_position for d in catalog.descriptors()}


@pytest.mark.timeout(200)
@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("checksum", ["-", "CRC-32"])
def test_the_tool_finds_nothing_wrong_and_changes_no_stop_position(
    script: str, checksum: str, tmp_path: Path
) -> None:
    setting = f"{script}:0:{checksum}"
    chance = Random(setting)
    points = [point for point in points_of(setting) if point.progress.allowed]
    for point in chance.sample(points, SAMPLE):
        way = chance.choice(list(ways_of(setting, point, thorough=False)))
        aftermath = Aftermath(
            Setting.parse(setting), point.progress, state_at(setting, point.number, way)
        )
        aftermath.check(go_on=chance.random() < 0.5)
        folder = tmp_path / f"{point.number}-{way}"
        write_state(aftermath.disk.state(), folder)
        before = stop_positions(folder)
        arguments = [] if checksum == "-" else ["-checksum", checksum]
        output = archive_tool(folder, "verify", "-a", *arguments, stdin="n\n" * 50, check=False)
        assert not wrong_lines(output, before), f"{setting} {point.number} {way}:\n{output}"
        # A recording that the tool calls faulty is put aside by it.
        left = {i: stop for i, stop in before.items() if stop % TERM or stop == 0}
        after = stop_positions(folder)
        assert left.items() <= after.items() <= before.items(), output


def wrong_lines(output: str, stops: dict[int, int]) -> list[str]:
    """Errors in the tool's words, but for one that it has of healthy recordings as well.

    Truncated to the start of a segment they have no file there, ours as the reference's.
    """
    wrong = []
    for line in output.splitlines():
        found = re.match(r"\(recordingId=(\d+)[,)].* ERR: (.*)", line)
        if found and not (
            stops.get(int(found[1]), 1) % TERM == 0
            and "exceed max segment file position" in found[2]
        ):
            wrong.append(line)
    checked = len(re.findall(r"^\(recordingId=\d+\) (?:OK|ERR)", output, re.MULTILINE))
    return wrong if checked >= len(stops) else [f"only {checked} were looked at", *wrong]
