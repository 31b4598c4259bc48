"""Arguments and options that several commands share, declared once.

A command takes a whole group by a parameter annotated with one of the dataclasses here and the
decorator `grouped`, which shows each field to Typer as an option of its own.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from aerolog.tools.command_line.help import CONNECTION_PANEL
from aerolog.transport.config.values import (
    INT32_MAX,
    INT32_MIN,
    parse_long_duration_ns,
    parse_size,
)
from aerolog.transport.errors import AerologError
from aerolog.transport.time_units import NS_PER_S

T = TypeVar("T")


#: Ends the help of every option that takes a time.
TIME_RULE = "Local time unless it has an offset, as shown ones have."


def option_parser(parse: Callable[[str, str], T], name: str) -> Callable[[str | T], T]:
    """A Typer parser out of one of ours, with our message in the usage error."""

    def parser(given: str | T) -> T:
        if not isinstance(given, str):
            return given  # a default: Typer runs those through here as well
        try:
            return parse(name, given)
        except AerologError as error:
            raise typer.BadParameter(str(error)) from error

    parser.__name__ = name
    return parser


def _seconds(name: str, text: str) -> float:
    return parse_long_duration_ns(name, text) / NS_PER_S


def seconds_parser(name: str) -> Callable[[str | float], float]:
    """A Typer parser of durations such as 500ms, as seconds; a bare number is seconds.

    Args:
        name: what messages call the option.
    """
    return option_parser(_seconds, name)


def _positive_size(name: str, text: str) -> int:
    value = parse_size(name, text)
    if value == 0:
        raise typer.BadParameter(f"{name} must be more than 0")
    return value


def seconds_option(name: str, meaning: str, **settings: Any) -> Any:
    """The option of a duration such as 500ms, given as seconds; a bare number is seconds."""
    return typer.Option(name, metavar="TIME", help=meaning, parser=seconds_parser(name), **settings)


def size_option(name: str, metavar: str, meaning: str) -> Any:
    """The option of a number of bytes above 0, of which k, m and g may make more."""
    return typer.Option(
        name,
        metavar=metavar,
        help=f"{meaning} (k, m, g allowed).",
        parser=option_parser(_positive_size, name),
    )


def aeron_dir_option(meaning: str = "The media driver's directory.", **settings: Any) -> Any:
    """The option of a driver's directory, with its variable."""
    return typer.Option("--aeron-dir", metavar="DIR", envvar="AERON_DIR", help=meaning, **settings)


def check_channel(channel: str) -> str:
    """A channel that parses; as a usage error otherwise."""
    from aerolog.transport.uri import ChannelUri

    try:
        ChannelUri.parse(channel)
    except AerologError as error:
        raise typer.BadParameter(str(error)) from error
    return channel


def optional_channel(channel: str | None) -> str | None:
    """As check_channel, but None is allowed."""
    return None if channel is None else check_channel(channel)


def refuse_unknown_names(strict: bool) -> bool:
    """With ``--strict``, whether all names of properties in the environment are known.

    Raises:
        ConfigurationError: one is not; says which one is meant.
    """
    if strict:
        from aerolog.transport.client.options import PROPERTIES
        from aerolog.transport.config.settings import Settings

        Settings(PROPERTIES, keywords={"strict": True})
    return strict


INT32_RANGE: dict[str, Any] = {"min": INT32_MIN, "max": INT32_MAX}

ChannelArgument = Annotated[
    str,
    typer.Argument(
        metavar="CHANNEL",
        help="Channel, such as aeron:ipc.",
        callback=check_channel,
        show_default=False,
    ),
]
StreamArgument = Annotated[
    int,
    typer.Argument(metavar="STREAM", help="Stream id.", show_default=False, **INT32_RANGE),
]
RecordingArgument = Annotated[
    int, typer.Argument(metavar="ID", help="Recording id.", min=0, show_default=False)
]
ChannelOption = Annotated[
    str | None,
    typer.Option("--channel", metavar="CHANNEL", help="Channel.", callback=optional_channel),
]
StreamOption = Annotated[
    int | None,
    typer.Option("--stream", metavar="STREAM", help="Stream id.", **INT32_RANGE),
]
CountOption = Annotated[
    int | None, typer.Option("--count", metavar="N", help="Stop after N messages.", min=1)
]
DurationOption = Annotated[
    float | None,
    seconds_option(
        "--duration",
        "Stop after this time, such as 90s, 5m or 1.5h; a bare number is seconds.",
    ),
]
WaitOption = Annotated[
    float,
    seconds_option(
        "--wait",
        "How long to wait for a subscriber, at the start and when there is none any more.",
    ),
]
SizeOption = Annotated[int | None, size_option("--size", "BYTES", "Generate messages of this size")]
FrameSizeOption = Annotated[
    int | None, size_option("--frame-size", "BYTES", "Read records of this size instead of lines")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
]
RemoteOption = Annotated[
    bool, typer.Option("--remote", help="Subscribe instead of spying (they differ for UDP).")
]
UntilEndOption = Annotated[
    bool, typer.Option("--until-end", help="Stop when the publishers have ended.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SkipDamageOption = Annotated[
    bool,
    typer.Option("--skip-damage", help="Go on behind damage; rejects say where."),
]
ArchiveDirOption = Annotated[
    str | None,
    typer.Option(
        "--archive-dir",
        metavar="DIR",
        help="Read this archive folder directly, read-only, with or without an archive running.",
    ),
]
PositionOption = Annotated[
    int | None,
    typer.Option("--position", metavar="P", help="Position to begin at.", min=0),
]
LengthOption = Annotated[
    int | None, size_option("--length", "N", "Bytes to replay, frames included")
]


FileIoOption = Annotated[
    int | None, size_option("--file-io-max-length", "N", "Bytes that the source reads at once")
]
_connection_option = functools.partial(typer.Option, rich_help_panel=CONNECTION_PANEL)
StrictOption = Annotated[
    bool,
    _connection_option(
        "--strict",
        help="Refuse unknown variables and parameters.",
        callback=refuse_unknown_names,
        is_eager=True,  # before arguments are missed
    ),
]


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """How to reach the media driver."""

    aeron_dir: Annotated[str | None, aeron_dir_option(rich_help_panel=CONNECTION_PANEL)] = None
    driver_timeout: Annotated[
        float,
        seconds_option(
            "--driver-timeout",
            "How long to wait for the driver.",
            rich_help_panel=CONNECTION_PANEL,
        ),
    ] = 10.0
    strict: StrictOption = False


@dataclass(frozen=True, slots=True)
class ArchiveOptions(DriverOptions):
    """How to reach the archive."""

    control_channel: Annotated[
        str,
        _connection_option(
            "--control-channel",
            metavar="CHANNEL",
            envvar="AERON_ARCHIVE_CONTROL_CHANNEL",
            help="Where the archive listens.",
            callback=check_channel,
        ),
    ] = "aeron:ipc"
    control_stream: Annotated[
        int,
        _connection_option(
            "--control-stream",
            metavar="STREAM",
            envvar="AERON_ARCHIVE_CONTROL_STREAM_ID",
            help="Stream id there.",
            **INT32_RANGE,
        ),
    ] = 10
    response_channel: Annotated[
        str | None,
        _connection_option(
            "--response-channel",
            metavar="CHANNEL",
            envvar="AERON_ARCHIVE_CONTROL_RESPONSE_CHANNEL",
            help="Where it answers: aeron:udp?endpoint=<us>:0.",
            callback=optional_channel,
        ),
    ] = None
    response_stream: Annotated[
        int,
        _connection_option(
            "--response-stream",
            metavar="STREAM",
            envvar="AERON_ARCHIVE_CONTROL_RESPONSE_STREAM_ID",
            help="Stream id there.",
            **INT32_RANGE,
        ),
    ] = 20
    archive_timeout: Annotated[
        float,
        seconds_option(
            "--archive-timeout",
            "How long to wait for an answer.",
            rich_help_panel=CONNECTION_PANEL,
        ),
    ] = 10.0
    user: Annotated[
        str | None,
        _connection_option(
            "--user",
            metavar="NAME",
            envvar="AEROLOG_ARCHIVE_USER",
            help="Who you are; asks for the password.",
        ),
    ] = None
    password_file: Annotated[
        str | None,
        _connection_option(
            "--password-file",
            metavar="FILE",
            envvar="AEROLOG_ARCHIVE_PASSWORD_FILE",
            help="File whose first line is the password.",
        ),
    ] = None
    key_file: Annotated[
        str | None,
        _connection_option(
            "--key-file",
            metavar="FILE",
            envvar="AEROLOG_ARCHIVE_KEY_FILE",
            help="File with USER:KEY for HMAC.",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """How a command goes about changing recordings."""

    yes: YesOption = False
    dry_run: DryRunOption = False
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when the files are deleted, not before.")
    ] = False
    as_json: JsonOption = False


@dataclass(frozen=True, slots=True)
class DecoderOptions:
    """How payloads are decoded."""

    decoder: Annotated[
        str | None,
        typer.Option(
            "--decoder",
            metavar="NAME",
            help="Decode payloads to columns.",
        ),
    ] = None
    decoder_option: Annotated[
        list[str] | None,
        typer.Option("--decoder-option", metavar="KEY=VALUE", help="Of the decoder."),
    ] = None

    def make_decoder(self) -> Any:
        """The decoder that was named, or None.

        Raises:
            DecoderError: there is no such decoder, or an option is wrong.
        """
        options = _pairs(self.decoder_option or [], "--decoder-option")
        if self.decoder is None:
            if options:
                raise typer.BadParameter("--decoder-option needs --decoder")
            return None
        from aerolog.catalog.decoders import make_decoder

        return make_decoder(self.decoder, options)


def _pairs(given: list[str], name: str) -> dict[str, str]:
    found = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{name} takes KEY=VALUE, not {text!r}")
        found[key] = value
    return found


def grouped(command: Callable[..., T]) -> Callable[..., T]:
    """Spreads parameters that are dataclasses of options into options of their own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        members = get_type_hints(group, include_extras=True)
        parameters.extend(
            inspect.Parameter(
                member.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=member.default,
                annotation=members[member.name],
            )
            for member in fields(group)
        )
    positional = [p for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    keyword_only = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]

    @functools.wraps(command)
    def spread(**values: Any) -> T:
        for name, group in groups.items():
            given = {member.name: values.pop(member.name) for member in fields(group)}
            values[name] = group(**given)
        return command(**values)

    shown: Any = spread
    shown.__signature__ = inspect.Signature(positional + keyword_only)
    shown.__annotations__ = {p.name: p.annotation for p in positional + keyword_only}
    del shown.__wrapped__
    return spread
