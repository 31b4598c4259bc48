"""Whatever is printed or logged goes through few modules, which make it fit and hide secrets."""

import re
from pathlib import Path

from product import WINGS

#: Modules that write text wherever it comes from.
ROOMS = ("tools/terminal/", "transport/text_output.py")
#: Where else something is written, and why that needs no such care.
WRITERS = {
    "tools/command_line/application.py": "the version",
    "tools/command_line/help.py": "help",
    "tools/main.py": "words of our own",
    "tools/metrics/prometheus.py": "HTTP",
    "tools/replay/pace_keys.py": "words of our own, on the thread of the keyboard",
    "tools/shell/completion_candidates.py": "candidates, made fit there",
    "tools/shell/completion_command.py": "scripts of our own",
    "tools/shell/man_command.py": "manual pages",
    "tools/stat/counter_forms.py": "JSON, made fit there; a screen cleared",
    "tools/wireshark/wireshark_command.py": "the dissector",
    "transport/events/event_reader.py": "lines of events, without secrets",
}
#: Where a trace is made that is not written there.
TRACES = {"tools/command_line/invocation.py": "written by the console"}
WRITES = re.compile(
    r"\b(?:sys\.)?(?:stdout|stderr)\.write(?:lines)?\(|\btyper\.echo\(|(?<![\w.])print\("
    r"|\bself\.out\.write\(|\bwfile\.write\(|\bjson\.dump\("
)
TRACE = re.compile(r"\b(?:traceback|tracebacks)\.(?:print|format)_|\bfrom traceback import format_")
LOGGER = re.compile(r"\bgetLogger\(")
#: Loggers of other packages, which are told to be silent.
FOREIGN = {"catalog/export/spark_runner.py", "tools/metrics/otlp.py"}


def places_of(pattern: re.Pattern[str], checkout: Path, tracked: list[Path]) -> set[str]:
    """The modules of the product in which something matches, outside of the rooms."""
    found = set()
    for path in tracked:
        place = str(path.relative_to(checkout))
        code = re.sub(r'"""(?s:.*?)"""', "", path.read_text()) if path.suffix in CODE else ""
        if (
            place.split("/", maxsplit=1)[0] in WINGS
            and not place.startswith(ROOMS)
            and pattern.search(code)
        ):
            found.add(place)
    return found


CODE = {".py", ".pyx", ".pxd"}


def test_text_is_written_in_few_places(checkout: Path, tracked: list[Path]):
    found = places_of(WRITES, checkout, tracked)
    assert not found - WRITERS.keys(), "print with aerolog.tools.terminal or transport.text_output"
    assert not WRITERS.keys() - found, "writes nothing any more, take it off the list"


def test_traces_are_written_in_one_place(checkout: Path, tracked: list[Path]):
    found = places_of(TRACE, checkout, tracked)
    assert found == TRACES.keys(), "write them with transport.text_output"


def test_log_records_pass_through_one_place(checkout: Path, tracked: list[Path]):
    found = places_of(LOGGER, checkout, tracked)
    assert found == FOREIGN, "make loggers with transport.text_output"
