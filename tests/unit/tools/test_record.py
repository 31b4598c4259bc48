"""Recording what was not meant: the archive's own requests."""

import pytest

from aerolog.tools.command_line.options import ArchiveOptions
from aerolog.tools.record.record_command import is_control_stream

UDP = "aeron:udp?endpoint=localhost:8010"


@pytest.mark.parametrize(
    ("control", "channel", "stream", "expected"),
    [
        ("aeron:ipc", "aeron:ipc", 10, True),
        ("aeron:ipc", "aeron:ipc?term-length=64k", 10, True),
        ("aeron:ipc?alias=control", "aeron:ipc", 10, True),
        ("aeron:ipc", "aeron:ipc?session-id=7", 10, False),
        ("aeron:ipc", "aeron:ipc", 11, False),
        ("aeron:ipc", UDP, 10, False),
        (UDP, f"{UDP}|alias=x", 10, True),
        (UDP, "aeron:udp?endpoint=localhost:8011", 10, False),
        (UDP, "aeron:udp?control=localhost:8011|control-mode=dynamic", 10, False),
    ],
)
def test_the_archives_requests_are_known(
    control: str, channel: str, stream: int, expected: bool
) -> None:
    options = ArchiveOptions(control_channel=control)

    assert is_control_stream(options, channel, stream) is expected
