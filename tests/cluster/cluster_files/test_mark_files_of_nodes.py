"""The mark files that a running node has are, byte by byte, those that the reference's node has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from cluster_talk import our_echo_node, reference_echo_node, talk, tool

from aerolog.archive.protocol.mark_header import MarkFileHeader as ArchiveHeader
from aerolog.cluster.files import CLUSTER_MARK_NAME, service_mark_name
from aerolog.cluster.protocol import MarkFileHeader
from aerolog.transport.protocol.mark_header import MARK_HEADER_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from peer.cluster_node import Node

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

MARKS: dict[str, type[Any]] = {
    f"cluster/{CLUSTER_MARK_NAME}": MarkFileHeader,
    f"cluster/{service_mark_name(0)}": MarkFileHeader,
    "archive/archive-mark.dat": ArchiveHeader,
}
#: What differs from run to run, or names what only one of the two has.
MASKED: dict[str, object] = {
    "activity_timestamp": 1,
    "start_timestamp": 1,
    "pid": 1,
    "aeron_directory": "directory",
    "services_cluster_dir": "folder",
    "authenticator": "a class of theirs, or a name of ours",
}


def masked(data: bytes, kind: type[Any]) -> tuple[bytes, bytes]:
    """The header with some fields masked, and all that stands behind it."""
    header = kind.decode(data)
    length = len(header.encode())
    for name, value in MASKED.items():
        if getattr(header, name, "") != "":
            setattr(header, name, value)
    header.control_channel = re.sub(r":\d+", ":PORT", header.control_channel)
    return header.encode(), data[length:MARK_HEADER_LENGTH].rstrip(b"\0") + data[
        MARK_HEADER_LENGTH:
    ]


def marks_and_errors(
    make: Callable[[Path], AbstractContextManager[Node]], folder: Path
) -> tuple[dict[str, tuple[bytes, bytes]], str]:
    folder.mkdir()
    with make(folder) as node, talk(node):
        marks = {name: masked((folder / name).read_bytes(), kind) for name, kind in MARKS.items()}
        printed = tool(node, "errors")
    return marks, re.sub(r"\d{4}-\S+|\d\d:\d\d:\d\d|/\S*", "_", printed)


def test_a_node_has_the_mark_files_of_the_reference_s(tmp_path: Path) -> None:
    theirs, theirs_printed = marks_and_errors(reference_echo_node, tmp_path / "theirs")
    ours, ours_printed = marks_and_errors(our_echo_node, tmp_path / "ours")
    for name, kind in MARKS.items():
        assert kind.decode(ours[name][0]) == kind.decode(theirs[name][0]), name
        assert ours[name] == theirs[name], name
    assert ours_printed == theirs_printed
