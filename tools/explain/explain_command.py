"""The declaration of ``aerolog explain``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from aerolog.tools.command_line.exit_codes import EXIT_FAILED
from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import JsonOption  # noqa: TC001 (Typer reads it)

app = typer.Typer(add_completion=False)


@command(
    app,
    "explain",
    examples=[
        "explain /dev/shm/aeron-me/cnc.dat",
        "explain /data/archive/3-0.rec --limit 100",
        "explain /data/archive/archive.catalog --json",
        "explain --classic /dev/shm/aeron-me/publications/7.logbuffer 64",
    ],
)
def explain(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of a driver or an archive.")],
    bytes_: Annotated[
        int | None,
        typer.Argument(
            metavar="[BYTES]", help="With --classic: bytes of each message at most.", min=0
        ),
    ] = None,
    *,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", help="Records of a kind at most, 0 for all.", min=0),
    ] = 20,
    as_json: JsonOption = False,
    classic: Annotated[
        bool, typer.Option("--classic", help="A log, as the reference's LogInspector prints it.")
    ] = False,
    ascii_: Annotated[
        bool, typer.Option("--ascii", help="With --classic: payloads as characters.")
    ] = False,
    skip_default_header: Annotated[
        bool, typer.Option("--skip-default-header", help="With --classic: without that line.")
    ] = False,
    scan_over_zeroes: Annotated[
        bool, typer.Option("--scan-over-zeroes", help="With --classic: go on behind empty bytes.")
    ] = False,
) -> int:
    """Say what a file is and what stands where in it: cnc, log, catalog, segment, mark, loss.

    A damaged file is shown up to the damage, and the exit code is 1.
    """
    from aerolog.tools.explain.explainer import check_bytes, open_bytes
    from aerolog.tools.explain.explainer import explain as explain_file

    if classic:
        if as_json:
            raise typer.BadParameter("--classic has no --json: it is a form of its own")
        from aerolog.tools.explain.log_inspector import Inspection, inspect
        from aerolog.tools.terminal.terminal_text import write_fit

        how = Inspection(
            ascii=ascii_, skip_default_header=skip_default_header, scan_over_zeroes=scan_over_zeroes
        )
        if bytes_ is not None:
            how = replace(how, limit=bytes_)
        data = open_bytes(file)

        def tell(line: str) -> None:
            check_bytes(data)
            write_fit([line])

        inspect(file, data, how, tell)
        return 0
    if bytes_ is not None or ascii_ or skip_default_header or scan_over_zeroes:
        raise typer.BadParameter("BYTES, --ascii, --skip-... and --scan-... belong to --classic")
    from aerolog.tools.explain.explanation_output import show, show_json

    explained = explain_file(file, limit)
    (show_json if as_json else show)(explained)
    return 0 if explained.damage is None else EXIT_FAILED
