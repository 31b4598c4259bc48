"""Groups of options, spread for Typer and gathered again."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from aerolog.tools.command_line.options import ArchiveOptions, DurationOption, LengthOption, grouped


@dataclass(frozen=True, slots=True)
class Pair:
    one: Annotated[int, typer.Option("--one")] = 1
    two: Annotated[str, typer.Option("--two")] = "b"


def run(*arguments: str) -> str:
    app = typer.Typer()

    @app.command()
    @grouped
    def command(
        name: str, *, flag: Annotated[bool, typer.Option("--flag")] = False, pair: Pair
    ) -> None:
        typer.echo(f"{name} {flag} {pair}")

    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_a_group_has_its_defaults() -> None:
    assert run("x") == "x False Pair(one=1, two='b')"


def test_the_options_of_a_group_stand_beside_the_others() -> None:
    assert run("--two", "c", "x", "--flag", "--one", "5") == "x True Pair(one=5, two='c')"


def archive_options(*arguments: str, **environ: str) -> tuple[int, str]:
    app = typer.Typer()

    @app.command()
    @grouped
    def command(*, archive: ArchiveOptions) -> None:
        typer.echo(repr(archive))

    result = CliRunner().invoke(app, list(arguments), env=environ)
    return result.exit_code, result.output


def test_an_archive_is_looked_for_over_ipc_by_default() -> None:
    code, shown = archive_options(AERON_DIR="")

    assert code == 0
    assert "control_channel='aeron:ipc', control_stream=10" in shown
    assert "response_channel=None, response_stream=20" in shown
    assert "driver_timeout=10.0" in shown


def test_options_are_stronger_than_the_references_variables() -> None:
    code, shown = archive_options(
        "--control-stream", "12",
        AERON_DIR="/from/env",
        AERON_ARCHIVE_CONTROL_CHANNEL="aeron:ipc?alias=env",
        AERON_ARCHIVE_CONTROL_STREAM_ID="11",
    )  # fmt: skip

    assert code == 0
    assert "aeron_dir='/from/env'" in shown
    assert "control_channel='aeron:ipc?alias=env', control_stream=12" in shown


@pytest.mark.parametrize(
    ("text", "expected"), [("90", "90.0"), ("1.5m", "90.0"), ("250ms", "0.25"), ("1h", "3600.0")]
)
def test_durations(text: str, expected: str) -> None:
    app = typer.Typer()

    @app.command()
    def command(duration: DurationOption = None) -> None:
        typer.echo(str(duration))

    assert CliRunner().invoke(app, ["--duration", text]).output.strip() == expected


def test_lengths_have_units() -> None:
    app = typer.Typer()

    @app.command()
    def command(length: LengthOption = None) -> None:
        typer.echo(str(length))

    assert CliRunner().invoke(app, ["--length", "2k"]).output.strip() == "2048"
    assert CliRunner().invoke(app, []).output.strip() == "None"
    assert CliRunner().invoke(app, ["--length", "2q"]).exit_code == 2
