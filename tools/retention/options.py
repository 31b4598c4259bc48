"""Options of retention: the archive's folder, the policies, and who else is asked."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerolog.transport.secrets import repr_without_secrets

if TYPE_CHECKING:
    from aerolog.archive.retention.policies import Policies

POLICY_PANEL = "Policy"

FolderOption = Annotated[
    str,
    typer.Option(
        "--archive-dir",
        metavar="DIR",
        envvar="AERON_ARCHIVE_DIR",
        help="The archive's folder, with or without an archive running.",
    ),
]
DEFAULT_FOLDER = "aeron-archive"


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """A file of policies, or one policy."""

    policies: Annotated[
        str | None,
        typer.Option(
            "--policies",
            metavar="FILE",
            help="File of policies (TOML); or one policy, by:",
        ),
    ] = None
    channel: Annotated[
        list[str] | None,
        typer.Option("--channel", metavar="PATTERN", help="Its channels, such as 'aeron:ipc*'."),
    ] = None
    stream: Annotated[
        list[str] | None,
        typer.Option("--stream", metavar="IDS", help="Its stream ids: 1001, 1000-1999."),
    ] = None
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="KEY[=VALUE]", help="Its tags in the SQL catalog."),
    ] = None
    everything: Annotated[bool, typer.Option("--everything", help="It means every recording.")] = (
        False
    )
    max_age: Annotated[
        str | None, typer.Option("--max-age", metavar="TIME", help="What is older goes: 7d, 12h.")
    ] = None
    max_size: Annotated[
        str | None, typer.Option("--max-size", metavar="BYTES", help="Of a recording (k, m, g).")
    ] = None
    max_total_size: Annotated[
        str | None, typer.Option("--max-total-size", metavar="BYTES", help="Of all of them.")
    ] = None
    max_count: Annotated[
        int | None,
        typer.Option("--max-count", metavar="N", help="Recordings of a stream.", min=1),
    ] = None
    free_low: Annotated[
        str | None,
        typer.Option("--free-low", metavar="SPACE", help="With less room (10%, 20g) ..."),
    ] = None
    free_high: Annotated[
        str | None,
        typer.Option("--free-high", metavar="SPACE", help="... the oldest goes until there is."),
    ] = None


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class NeedOptions:
    """The options that say who else may need data."""

    catalog: Annotated[
        str | None,
        typer.Option(
            "--catalog",
            metavar="URL",
            envvar="AEROLOG_CATALOG",
            help="SQL catalog; default the folder's, where it has one.",
        ),
    ] = None
    export: Annotated[
        list[str] | None,
        typer.Option("--export", metavar="TARGET", help="An export that may be unfinished."),
    ] = None


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class RunOptions(NeedOptions):
    """Who else may need data, and whether the clock is believed."""

    accept_clock: Annotated[
        bool, typer.Option("--accept-clock", help="Believe the clock, whatever speaks against it.")
    ] = False


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class RemovalOptions(NeedOptions):
    """Who else may need data that a command removes, and whether it is removed all the same."""

    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Go on although data is held or needed, or who needs it is not known."
        ),
    ] = False


@repr_without_secrets
@dataclass(frozen=True, slots=True)
class RecordingRemovalOptions(RemovalOptions):
    """The same, and where the holds are of an archive that does not tell its folder."""

    archive_dir: Annotated[
        str | None,
        typer.Option(
            "--archive-dir",
            metavar="DIR",
            envvar="AERON_ARCHIVE_DIR",
            help="The archive's folder, where holds are; an archive of aerolog tells it.",
        ),
    ] = None


def policies_of(options: PolicyOptions) -> "Policies":
    """The policies that the options give.

    Raises:
        typer.BadParameter: none, or a file and a policy.
        PolicyError: a policy that cannot be meant so.
    """
    from aerolog.archive.retention.policies import checked
    from aerolog.archive.retention.policy_file import load_policies, policy_of

    values: dict[str, Any] = {}
    for one in fields(options):
        value = getattr(options, one.name)
        if one.name != "policies" and value not in (None, False, []):
            values[one.name] = value
    if options.policies is not None:
        if values:
            name = next(iter(values)).replace("_", "-")
            raise typer.BadParameter(f"--policies and --{name} do not go together: use one")
        return load_policies(options.policies)
    if not values:
        raise typer.BadParameter("pass --policies FILE, or a policy such as --max-age 7d")
    return checked([policy_of(values, name="options", source="options")])
