"""Unknown properties, variables and channel parameters are told of, with the nearest known name."""

import logging
import re
from pathlib import Path

import pytest

from aerolog.archive.client.options import PROPERTIES as ARCHIVE_CLIENT
from aerolog.archive.service.properties import PROPERTIES as ARCHIVE
from aerolog.transport.client.options import PROPERTIES as CLIENT
from aerolog.transport.config import Properties, Settings
from aerolog.transport.config.known_names import KNOWN_NAMES
from aerolog.transport.driver.properties import PROPERTIES as DRIVER
from aerolog.transport.errors import ChannelUriError, ConfigurationError
from aerolog.transport.uri.known_keys import check_keys

SPEC = Path(__file__).parents[3] / "docs" / "spec" / "configuration.md"


def settings(*arguments: str, environ: dict[str, str] | None = None) -> Settings:
    return Settings(DRIVER, Properties.from_command_line(arguments, environ or {}))


@pytest.mark.parametrize(
    ("definition", "line"),
    [
        (
            "aeron.term.bufer.length=64k",
            (
                "unknown property aeron.term.bufer.length; did you mean aeron.term.buffer.length? "
                "(-Daeron.term.bufer.length)"
            ),
        ),
        (
            "aeron.archive.segment.file.lenght=64k",
            (
                "unknown property aeron.archive.segment.file.lenght; did you mean "
                "aeron.archive.segment.file.length? (-Daeron.archive.segment.file.lenght)"
            ),
        ),
        (
            "aerolog.archive.verify.rat=1",
            (
                "unknown property aerolog.archive.verify.rat; did you mean "
                "aerolog.archive.verify.rate? (-Daerolog.archive.verify.rat)"
            ),
        ),
    ],
)
def test_an_unknown_property_names_the_nearest(definition: str, line: str) -> None:
    assert settings(f"-D{definition}").unknown == (line,)


def test_an_unknown_variable_names_the_nearest_variable() -> None:
    found = settings(environ={"AERON_TREADING_MODE": "SHARED"})

    (line,) = found.unknown
    assert line.startswith("unknown variable AERON_TREADING_MODE; did you mean AERON_THREADING_")


def test_an_unknown_name_like_no_other_has_no_suggestion() -> None:
    assert settings(environ={"AERON_QQQQQQQ": "1"}).unknown == (
        "unknown variable AERON_QQQQQQQ (environment AERON_QQQQQQQ)",
    )


@pytest.mark.parametrize(
    "name",
    ["aeron.cluster.members", "aeron.event.cluster.log", "aeron.log.inspector.scanOverZeroes",
     "aeron.sample.messageLength", "aeron.debug.timeout", "java.io.tmpdir", "my.aeron.dir",
     "agrona.disable.bounds.checks", "AERON_RECEIVER_IO_VECTOR_CAPACITY", "aeronette.dir"],
)  # fmt: skip
def test_names_of_agents_cluster_and_other_programs_are_quiet(name: str) -> None:
    assert settings(f"-D{name}=1").unknown == ()


def test_service_links_of_kubernetes_are_quiet() -> None:
    names = ("AERON_SERVICE_HOST", "AERON_SERVICE_PORT_UDP", "AERON_PORT", "AERON_PORT_8010_UDP",
             "AERON_ARCHIVE_PORT_8010_UDP_ADDR", "AERON_ARCHIVE_SERVICE_PORT")  # fmt: skip

    assert settings(environ=dict.fromkeys(names, "x")).unknown == ()


def test_every_declared_name_is_known() -> None:
    declared = {
        name
        for prop in (*DRIVER, *ARCHIVE, *CLIENT, *ARCHIVE_CLIENT)
        for name in (prop.name.upper().replace(".", "_"), prop.env)
        if name.startswith(("AERON_", "AEROLOG_"))
    }

    assert declared - KNOWN_NAMES.keys() == set()


def test_every_name_of_the_specification_is_known() -> None:
    text = SPEC.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    properties = re.findall(r"`(aeron\.[A-Za-z_.]+)`", "\n".join(rows))
    variables = re.findall(r"`(AERON_[A-Z_]*[A-Z])`", "\n".join(rows))
    names = {name.upper().replace(".", "_") for name in properties} | set(variables)

    assert len(names) > 200
    assert names - KNOWN_NAMES.keys() == set()


def test_each_unknown_name_is_reported_once_in_a_process() -> None:
    lines: list[str] = []

    for _ in range(2):
        settings("-Daeron.reported.once=1").report(lines.append)

    assert lines == ["unknown property aeron.reported.once (-Daeron.reported.once)"]


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (("-Daerolog.strict=true", "-Daeron.dri=x"), {}),
        (("-Daeron.dri=x",), {"AEROLOG_STRICT": "1"}),
        ((), {"AEROLOG_STRICT": "1", "AERON_DRI": "x"}),
    ],
)
def test_strict_makes_an_unknown_name_an_error(
    arguments: tuple[str, ...], environ: dict[str, str]
) -> None:
    for table in (DRIVER, ARCHIVE, CLIENT, ARCHIVE_CLIENT):
        with pytest.raises(ConfigurationError, match=r"unknown (property|variable) \S+; did you"):
            Settings(table, Properties.from_command_line(arguments, environ))


def test_a_channel_is_checked_once_for_each_key(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("test")

    for channel in ("aeron:udp?endpoint=a:1|endpont=b:2", "aeron-spy:aeron:udp?endpont=c:3"):
        check_keys(channel, strict=False, write=log.warning)

    assert caplog.messages == [
        (
            "unknown channel parameter endpont; did you mean endpoint? "
            "(channel aeron:udp?endpoint=a:1|endpont=b:2)"
        )
    ]


def test_a_strict_check_of_a_channel_refuses_it_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ChannelUriError, match="mtuu; did you mean mtu"):
            check_keys("aeron:ipc?mtuu=1408", strict=True, write=print)


def test_a_strangers_key_is_shown_without_control_characters() -> None:
    lines: list[str] = []

    check_keys("aeron:ipc?\x1b[2J" + "k" * 5000 + "=1", strict=False, write=lines.append)

    assert "\x1b" not in lines[0]
    assert len(lines[0]) < 250


@pytest.mark.parametrize("channel", ["", "aeron:ipc", "aeron:ipc?", "junk", "aeron:udp?a", "?|="])
def test_malformed_channels_are_left_to_their_parser(channel: str) -> None:
    check_keys(channel, strict=channel != "?|=", write=lambda line: None)
