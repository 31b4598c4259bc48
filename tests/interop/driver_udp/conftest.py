"""Fresh drivers of both kinds, one after the other, and a client that sees every message."""

import difflib
import re
from collections.abc import Callable
from typing import Any

import pytest
from peer.raw_client import RawClient, Transcript
from peer.streams import free_port

Script = Callable[..., list[str]]

_PORT = r"(?P<host>(?:\d+\.){3}\d+:|\[[0-9a-f:]+\]:)(?P<port>\d{4,5})"
_DOT, _COLON, _DIGIT = "2e", "3a", "3[0-9]"
_KEY_IPV4 = rf"(?:{_DIGIT}){{1,3}}(?:{_DOT}(?:{_DIGIT}){{1,3}}){{3}}"
_KEY_PORT = rf"((?:{_KEY_IPV4}|5d){_COLON})(?:{_DIGIT}){{4,5}}"
# Where in its own code the reference found out.
_CAUSE = r" \(at java[^:]*\)"


def masked(lines: list[str], ports: dict[str, int]) -> list[str]:
    """Lines with the test's ports by name, and those that the system chose as such."""
    names = {port: name for name, port in ports.items()}

    def name(match: re.Match[str]) -> str:
        return match["host"] + names.get(int(match["port"]), "<chosen>")

    def mask(line: str) -> str:
        for port, port_name in names.items():
            text = str(port)
            line = line.replace(f":{text}", f":{port_name}")
            line = line.replace(f":{text}".encode().hex(), f"<{port_name}>")
        line = re.sub(_CAUSE, "", re.sub(_PORT, name, line))
        return re.sub(_KEY_PORT, r"\1<chosen>", line)

    return [mask(line) for line in lines]


@pytest.fixture
def differences(start_server: Callable[..., Any]) -> Callable[..., str]:
    """``differences(script, properties)``: between a script's transcripts on both drivers."""

    def run(kind: str, script: Script, properties: dict[str, str]) -> list[str]:
        server = start_server(kind, "driver", properties=properties)
        noted = Transcript(server.aeron_dir)
        client, other = RawClient(server.aeron_dir), RawClient(server.aeron_dir)
        client.companions.append(other)
        other.companions.append(client)
        ports = {f"<port {number}>": free_port() for number in range(4)}
        counters = script(client, other, noted.note, *ports.values())
        lines = noted.lines + noted.mask(counters)
        assert server.process.stop() == 0
        return masked(lines, ports)

    def compare(script: Script, properties: dict[str, str]) -> str:
        ours = run("ours", script, properties)
        reference = run("reference", script, properties)
        return "\n".join(
            difflib.unified_diff(reference, ours, "reference", "ours", lineterm="", n=1)
        )

    return compare
