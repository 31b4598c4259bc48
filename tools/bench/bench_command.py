"""``aerolog bench``: measure side by side with the peers, from a checkout."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import JsonOption

app = typer.Typer(add_completion=False)


def find_checkout() -> Path | None:
    """The checkout that this package runs from, None when it is installed without one."""
    import aerolog

    for parent in Path(aerolog.__file__).resolve().parents:
        if (parent / "benchmarks" / "__main__.py").is_file() and (
            parent / "pyproject.toml"
        ).is_file():
            return parent
    return None


@command(app, examples=("bench ipc-32 ipc-rtt",))
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Benchmarks; all of them by default."),
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Measure throughput and latency, ours and the peers' in one run.

    JSON is a list of {name, unit, ours, peer, peer_name, ratio}.
    """
    checkout = find_checkout()
    if checkout is None:
        typer.echo(
            "aerolog: the benchmarks are not part of the installed package: run this from a "
            "checkout (git clone, make build, .venv/bin/aerolog bench)",
            err=True,
        )
        raise typer.Exit(1)
    arguments = [*(names or ()), *(["--json"] if as_json else [])]
    ended = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "benchmarks", *arguments], cwd=checkout, check=False
    )
    raise typer.Exit(ended.returncode if ended.returncode >= 0 else 128 - ended.returncode)
