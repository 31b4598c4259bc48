"""``aerolog explain --classic`` beside the reference's LogInspector, on the same logs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import peer
import pytest

from aerolog.tools.explain.explainer import open_bytes
from aerolog.tools.explain.log_inspector import Inspection, inspect
from aerolog.transport.client import Aeron

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.interop

CHANNEL = "aeron:ipc?term-length=64k"
_WAYS = [
    ([], {}, Inspection()),
    (["24"], {}, Inspection(limit=24)),
    (
        ["200"],
        {
            "aeron.log.inspector.data.format": "ascii",
            "aeron.log.inspector.skipDefaultHeader": "true",
        },
        Inspection(limit=200, ascii=True, skip_default_header=True),
    ),
    (
        ["8"],
        {"aeron.log.inspector.scanOverZeroes": "true"},
        Inspection(limit=8, scan_over_zeroes=True),
    ),
]


def reference_says(path: Path, arguments: list[str], properties: dict[str, str]) -> str:
    command = peer.toolchain().command(
        "io.aeron.samples.LogInspector", str(path), *arguments, properties=properties
    )
    done = subprocess.run(command, capture_output=True, timeout=90, check=True)
    return _without_time(done.stdout.decode("latin-1"))


def we_say(path: Path, how: Inspection) -> str:
    lines: list[str] = []
    inspect(str(path), open_bytes(str(path)), how, lines.append)
    return _without_time("".join(f"{line}\n" for line in lines))


def _without_time(said: str) -> str:
    first, second, rest = said.split("\n", 2)
    return "\n".join([first, second[second.index(" Inspection dump for") :], rest])


@pytest.fixture(params=["ours", "reference"])
def logs(
    request: pytest.FixtureRequest, start_server: Callable[..., Any], stream_id: int, tmp_path: Path
) -> list[Path]:
    """The logs of a publication that went round its terms, as a driver of either kind made them."""
    server = start_server(request.param, "driver")
    with (
        Aeron(server.aeron_dir) as aeron,
        aeron.add_subscription(CHANNEL, stream_id) as subscription,
        aeron.add_exclusive_publication(CHANNEL, stream_id) as publication,
    ):
        publication.wait_connected(30, writable=True)
        # The driver connects the publication before it tells the subscriber of the image.
        subscription.wait_connected(30)
        for index in range(60):
            publication.send(b"%06d " % index * (index * 12), timeout=30)
            subscription.poll(lambda *_: None, 1000)
        copies = []
        for path in sorted(Path(server.aeron_dir).rglob("*.logbuffer")):
            copies.append(tmp_path / path.name)
            shutil.copyfile(path, copies[-1])
    assert copies
    return copies


def test_the_same_is_shown(reference: peer.Toolchain, logs: list[Path]) -> None:
    for arguments, properties, how in _WAYS:
        for path in logs:
            assert we_say(path, how) == reference_says(path, arguments, properties)
