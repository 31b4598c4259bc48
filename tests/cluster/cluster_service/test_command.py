"""The command, with the programs of services.md."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cluster_talk import answers, heard, talk, tool
from peer.process import ServerProcess

from aerolog.tools.services.direct_service import service

from .conftest import container, node_of_ours

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.cluster_node import Node

    from .conftest import NodeMaker

pytestmark = [pytest.mark.interop, pytest.mark.processes_end]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "cluster" / "services.md"
COMMAND = [sys.executable, "-m", "aerolog.tools.main"]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def replaced(text: str, imagined: str, real: str) -> str:
    assert imagined in text
    return text.replace(imagined, real)


@contextmanager
def auction(node: Node, folder: Path) -> Iterator[ServerProcess]:
    """The page's service, run by the page's command."""
    program, _, _ = blocks("python")
    folder.mkdir()
    (folder / "auction.py").write_text(replaced(program, "10_000", "1_000"))
    (line,) = blocks("sh")
    line = replaced(line, "/dev/shm/aeron-node0", node.aeron_dir)
    line = replaced(line, "node0/cluster", str(node.folder / "cluster"))
    program_name, *arguments = shlex.split(line)
    assert program_name == "aerolog"
    process = ServerProcess("our-service", COMMAND + arguments, cwd=folder, stop_by_signal=True)
    try:
        assert process.next_line() == (
            f"aerolog service container ready: Auction on {node.aeron_dir}"
        )
        yield process
    finally:
        assert process.stop() == 0


def test_the_page_s_programs_run(tmp_path: Path, make_node: NodeMaker) -> None:
    _, client, _ = blocks("python")
    (said,) = blocks("text")
    with make_node(tmp_path) as node, auction(node, tmp_path / "here"):
        client = replaced(client, "/dev/shm/aeron-node0", node.aeron_dir)
        client = replaced(client, '{0: "localhost:9001"}', repr(node.endpoints))
        done = subprocess.run(
            [sys.executable, "-c", client], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.stderr == ""
        assert done.stdout == said


def test_the_command_ends_with_the_node(tmp_path: Path, make_node: NodeMaker) -> None:
    with make_node(tmp_path) as node, auction(node, tmp_path / "here") as process:
        with talk(node) as cluster:
            assert answers(cluster, b"bid 7 100") == [b"item 7 stands at 100"]
        assert "SHUTDOWN applied successfully" in tool(node, "shutdown")
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere:Service"], "class.name: nowhere:Service cannot be imported: No module named"),
        (["json:Service"], "class.name: json:Service cannot be imported: module 'json' has no"),
        (["json:JSONDecoder"], "json:JSONDecoder makes a JSONDecoder, not an aerolog.cluster"),
        ([], "aeron.cluster.service.class.name is MODULE:NAME of an object in Python, not ''"),
        (
            ["-Daeron.cluster.service.class.name=io.aeron.samples.EchoService"],
            "is MODULE:NAME of an object in Python, not 'io.aeron.samples.EchoService'",
        ),
        (["json:JSONDecoder", "-Daeron.cluster.service.id=11"], "service id 11 is not in"),
    ],
)
def test_what_cannot_be_run_is_told(arguments: list[str], told: str) -> None:
    done = subprocess.run(
        [*COMMAND, "service-container", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ERROR: ")
    assert told in done.stderr


def test_the_command_is_a_service_of_the_tools() -> None:
    assert service("service-container").__name__ == "main_service_container"


def test_the_page_s_batches_are_columns(tmp_path: Path) -> None:
    *_, program = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(program, str(PAGE), "exec"), names)
    service = names["Prices"]()
    with node_of_ours(tmp_path) as node, container(node, service), talk(node) as cluster:
        for item, price in ((3, 0.5), (4, 2.0), (3, 0.25)):
            cluster.send(np.array((item, price), names["PRICE"]).tobytes())
        assert heard(cluster, 3) == [b"noted"] * 3
    assert (service.sums[3], service.sums[4], service.sums.sum()) == (0.75, 2.0, 2.75)


def test_the_page_s_native_service_compiles(tmp_path: Path) -> None:
    (source,) = blocks("cython")
    (tmp_path / "echo_messages.pyx").write_text(source)
    cython = Path(sys.executable).parent / "cython"
    done = subprocess.run(
        [cython, "-3", "-I", PAGE.parents[2] / "python", tmp_path / "echo_messages.pyx"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "on_message" in (tmp_path / "echo_messages.c").read_text()
