"""--classic prints what the reference's tools print, of either driver's files."""

import re

import pytest

pytestmark = pytest.mark.interop

TIMES = re.compile(r"\d\d:\d\d:\d\d(?= - | \()|(?<=age )-?[\d,]+(?=ms)")
NUMBERS = re.compile(r"-?\d[\d,]*")


def still(text: str) -> str:
    """Without the time of the look."""
    return TIMES.sub("<time>", text)


def fields(text: str) -> list[str]:
    """Lines without their numbers, which move while a driver lives, and their padding."""
    return [" ".join(NUMBERS.sub("<n>", line).split()) for line in text.splitlines()]


SAME = {
    "AeronStat": ("stat", "watch=false"),
    "AeronStat type": ("stat", "watch=false", "type=4"),
    "AeronStat types": ("stat", "watch=false", "type=^(1|12)$"),
    "AeronStat identity": ("stat", "watch=false", "identity=^1"),
    "AeronStat stream": ("stat", "watch=false", "stream=21"),
    "AeronStat session": ("stat", "watch=false", "session=5", "stream=1$"),
    "AeronStat channel": ("stat", "watch=false", "channel=ipc", "delay=3"),
    "AeronStat all": ("stat", "watch=FALSE", "channel=udp", "stream=^21$", "type=^[2-9]"),
    "AeronStat help": ("stat", "-h"),
    "AeronStat no name": ("stat", "watch=false", "4"),
    "AeronStat unknown": ("stat", "watch=false", "nothing=4"),
    "ErrorStat": ("errors",),
    "LossStat": ("loss",),
    "StreamStat": ("streams",),
    "DriverTool": ("driver-tool",),
    "DriverTool pid": ("driver-tool", "pid"),
    "DriverTool help": ("driver-tool", "-h"),
    "DriverTool other": ("driver-tool", "other"),
}


@pytest.mark.error_log("unknown publication")
@pytest.mark.parametrize("name", SAME)
def test_every_line_of_a_copy_is_the_same(busy, point, java_tools, our_tools, name):
    point(busy.copy)
    command, *arguments = SAME[name]

    theirs = java_tools(name.split()[0], *arguments)
    ours = our_tools(command, "--classic", *dashed(arguments))

    assert still(ours.out) == still(theirs.out)
    assert (ours.code, ours.err) == (theirs.code, theirs.err)


def dashed(arguments):
    """Arguments that begin with a dash are told from options by two dashes before them."""
    return ["--", *arguments] if any(a.startswith("-") for a in arguments) else arguments


def test_backlogs_of_a_copy_are_the_same(busy, point, java_tools, our_tools):
    point(busy.copy)

    theirs, ours = java_tools("BacklogStat"), our_tools("backlog", "--classic")

    assert "subscriber" in theirs.out
    assert "for publisher" in theirs.out
    assert ours.out == theirs.out


@pytest.mark.parametrize(
    ("command", "tool", "arguments"),
    [
        ("stat", "AeronStat", ["watch=false"]),
        ("errors", "ErrorStat", []),
        ("loss", "LossStat", []),
        ("streams", "StreamStat", []),
        ("backlog", "BacklogStat", []),
        ("driver-tool", "DriverTool", []),
    ],
)
def test_a_live_directory_has_the_same_fields(
    busy, point, java_tools, our_tools, command, tool, arguments
):
    point(busy.aeron_dir)

    theirs, ours = java_tools(tool, *arguments), our_tools(command, "--classic", *arguments)

    assert fields(ours.out) == fields(theirs.out)
    assert theirs.err == ours.err == ""
    assert theirs.code == ours.code == 0
