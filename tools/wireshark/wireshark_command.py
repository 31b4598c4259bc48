"""``aerolog wireshark``: the dissector that shows Aeron and the archive protocol in captures."""

from pathlib import Path
from typing import Annotated

import typer

from aerolog.tools.command_line.help import command

app = typer.Typer(add_completion=False)


@command(
    app,
    examples=(
        "wireshark --install",
        "wireshark > aerolog.lua",
        "wireshark --install --folder /usr/lib/wireshark/plugins",
    ),
)
def wireshark(
    *,
    install: Annotated[
        bool, typer.Option("--install", help="Write it into the folder of Lua plugins.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Of the plugins; the personal one by default."),
    ] = None,
) -> None:
    """Print or install a dissector in Lua for Wireshark and tshark.

    It shows the messages between an archive and its clients, those of several fragments too, and
    all frames of the transport: then read a capture with tshark -X lua_script:aerolog.lua -r FILE,
    or open it in Wireshark, and filter by aeron_archive.recording_id, aeron_frame.session_id, ...
    """
    from aerolog.tools.terminal.console import say
    from aerolog.tools.wireshark.dissector_tables import dissector
    from aerolog.tools.wireshark.plugin_folder import personal_plugins, place

    if folder is not None and not install:
        raise typer.BadParameter("--folder says where to install: give --install as well")
    if install:
        say(str(place(dissector(), folder or personal_plugins())))
    else:
        typer.echo(dissector(), nl=False)
