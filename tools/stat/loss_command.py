"""``aerolog loss``: what a driver's receivers have lost."""

import typer

from aerolog.tools.command_line.help import command
from aerolog.tools.command_line.options import grouped
from aerolog.tools.stat.options import LookOptions, StreamFilters

app = typer.Typer(add_completion=False)


@command(app, examples=("loss", "loss --stream ^1001$ --watch", "loss --json", "loss --classic"))
@grouped
def loss(
    *,
    chosen: StreamFilters,
    look: LookOptions,
) -> None:
    """Print what a driver's receivers have lost, by stream and source, the largest loss first.

    Lost bytes are gaps that were noticed: a reliable stream has asked for them again.
    """
    look.check()
    from aerolog.tools.stat import loss_forms

    filters = chosen.filters()
    if look.classic:
        loss_forms.classic(look.aeron_dir)
        return
    loss_forms.show(look.aeron_dir, filters, look.schedule(), as_json=look.as_json)
