"""What the service commands hand over."""

import pytest
import typer

from aerolog.tools import main as entry
from aerolog.tools.services.service_commands import run_service, service_arguments


def test_properties_and_files_keep_their_order_and_options_come_last() -> None:
    given = ["-Daeron.dir=/a", "one.properties", "-Daeron.x:y", "two.properties"]

    arguments = service_arguments(given, {"aeron.dir": "/b", "aeron.archive.dir": None})

    assert arguments == [*given, "-Daeron.dir=/b"]


@pytest.mark.parametrize("wrong", ["-Dfoo", "-D=x", "-D", "--dir", "-v"])
def test_anything_else_is_wrong_usage(wrong: str) -> None:
    with pytest.raises(typer.BadParameter):
        service_arguments([wrong], {})


@pytest.mark.parametrize("code", [0, 1, 2, None])
def test_the_exit_code_is_the_services(code: int | None) -> None:
    received: list[list[str]] = []

    def service(arguments: list[str]) -> int | None:
        received.append(arguments)
        return code

    with pytest.raises(typer.Exit) as stopped:
        run_service(service, ["-Da=b"])

    assert stopped.value.exit_code == (code or 0)
    assert received == [["-Da=b"]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["driver", "-Daeron.a=1", "f.properties"], ["-Daeron.a=1", "f.properties"]),
        (["driver"], []),
        (["driver", "--aeron-dir", "/x", "-Da=b", "f"], ["-Da=b", "f", "-Daeron.dir=/x"]),
        (["driver", "f", "-Da=b"], ["f", "-Da=b"]),
    ],
)
def test_the_driver_gets_its_arguments_in_order(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: list[str]
) -> None:
    received: list[list[str]] = []

    def service(given: list[str]) -> int:
        received.append(list(given))
        return 0

    monkeypatch.setattr("aerolog.transport.driver.main", service)

    assert entry.main(arguments) == 0
    assert received == [expected]


@pytest.mark.parametrize(
    ("command", "function"),
    [("archive", "main_archive"), ("archiving-driver", "main_archiving_driver")],
)
def test_the_archive_gets_its_folders_as_properties(
    monkeypatch: pytest.MonkeyPatch, command: str, function: str
) -> None:
    received: list[list[str]] = []

    def service(given: list[str]) -> int:
        received.append(list(given))
        return 0

    monkeypatch.setattr(f"aerolog.archive.service.{function}", service)

    assert entry.main([command, "--archive-dir", "/a", "-Dx=y", "--aeron-dir", "/d"]) == 0
    assert entry.main([command, "--control-channel", "aeron:udp?endpoint=h:1"]) == 0
    assert received == [
        ["-Dx=y", "-Daeron.dir=/d", "-Daeron.archive.dir=/a"],
        ["-Daeron.archive.control.channel=aeron:udp?endpoint=h:1"],
    ]
