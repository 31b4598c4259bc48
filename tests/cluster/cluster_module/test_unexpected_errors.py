"""What nobody has foreseen ends the consensus module, and its process with it."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from cluster_talk import wait_for
from peer.cluster_node import free_ports

from aerolog.cluster.files import ClusterMarkFile
from aerolog.cluster.module import ClusteredMediaDriver

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.error_log(""), pytest.mark.processes_end]


DEFECTS = (ValueError, AssertionError, MemoryError, OSError, SystemExit, KeyboardInterrupt)


@pytest.mark.parametrize("kind", DEFECTS)
def test_an_exception_ends_the_module(
    tmp_path: Path,
    aeron_dir: str,
    kind: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "aerolog")
    failures: list[BaseException] = []
    members = ",".join(f"localhost:{port}" for port in free_ports(5))
    with ClusteredMediaDriver(
        aeron_dir,
        tmp_path / "archive",
        tmp_path / "cluster",
        driver_options={"threading_mode": "SHARED"},
        archive_options={"control_channel": "aeron:udp?endpoint=localhost:0"},
        module_options={
            "members": f"0,{members}",
            "ingress_channel": "aeron:udp",
            "replication_channel": "aeron:udp?endpoint=localhost:0",
        },
        on_fatal=failures.append,
    ) as node:

        def defect(*_: object) -> None:
            raise kind("broken")

        module = node.module
        monkeypatch.setattr(module._agent, "_plan", defect)
        wait_for(lambda: module._thread is not None and module._thread.is_closed, "end")
        assert [type(reason) for reason in failures] == [kind]
        assert (type(module.failure), node.is_closed) == (kind, True)
        assert ("Traceback" in capfd.readouterr().err) is (kind is not OSError)
        with closing(ClusterMarkFile.open(tmp_path / "cluster")) as mark:
            assert [kind.__name__ in error.text for error in mark.errors()] == [True]
        assert {log.name for log in caplog.records if log.exc_text or log.exc_info} == {
            "aerolog.cluster"
        }
