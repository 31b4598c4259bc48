"""What the commands of a node say to settings that cannot be used, before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerolog.cluster.module.main import main_clustered_driver, main_consensus_module
from aerolog.cluster.service.container_main import main_service_container

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Main = Callable[[Sequence[str]], int]

NODE = (
    "-Daeron.cluster.members=0,h:1,h:2,h:3,h:4,h:5",
    "-Daeron.cluster.ingress.channel=aeron:udp",
    "-Daeron.cluster.replication.channel=aeron:udp?endpoint=localhost:0",
)
MODULES = (main_consensus_module, main_clustered_driver)


@pytest.mark.parametrize("main", MODULES)
@pytest.mark.parametrize(
    ("setting", "told"),
    [
        (r"aeron.cluster.dir=a\u0000b", "aeron.cluster.dir: 'a\\x00b' has a NUL"),
        ("aeron.cluster.ingress.channel=aeron:tcp", "aeron.cluster.ingress.channel: unknown media"),
        ("aeron.cluster.snapshot.channel=x", "aeron.cluster.snapshot.channel: "),
        ("aeron.cluster.log.channel=aeron:udp?mtu", "aeron.cluster.log.channel: "),
        ("aeron.cluster.session.timeout=5parsecs", "aeron.cluster.session.timeout: '5parsecs'"),
        ("aeron.cluster.member.id=7", "memberId=7 not found in: 0,h:1"),
    ],
)
def test_a_module_names_what_it_cannot_use(
    main: Main, setting: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*NODE, f"-D{setting}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"ERROR: {told}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("main", MODULES)
def test_a_name_that_is_not_known_is_told_beside_what_is_missing(
    main: Main, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aerolog.transport.config.known_names._told", set())
    assert main(["-Daeron.cluster.member=0,h:1,h:2,h:3,h:4,h:5"]) == 2
    warning, error = capsys.readouterr().err.splitlines()
    assert warning.startswith("WARNING: unknown property aeron.cluster.member; did you mean")
    assert error == "ERROR: ClusterMembers must be set: aeron.cluster.members"


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        (r"aeron.cluster.dir=a\u0000b", "aeron.cluster.dir: 'a\\x00b' has a NUL"),
        ("aeron.cluster.snapshot.channel=aeron:tcp", "aeron.cluster.snapshot.channel: unknown"),
        ("aeron.cluster.service.id=10", "service id 10 is not in the range 0 to 9"),
    ],
)
def test_a_container_names_what_it_cannot_use(
    setting: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main_service_container(["json:dumps", f"-D{setting}"]) == 2
    assert capsys.readouterr().err.startswith(f"ERROR: {told}")


def test_a_container_tells_of_a_number_once(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert main_service_container(["no_such:Service", "-Daeron.cluster.id=many"]) == 2
    assert [one.getMessage().partition(" is ")[0] for one in caplog.records] == [
        "aeron.cluster.id: 'many'"
    ]
    assert "cannot be imported" in capsys.readouterr().err
