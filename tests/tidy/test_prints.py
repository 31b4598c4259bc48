"""Commands print through ``tools/terminal``, which makes all text fit for a terminal."""

import re
from pathlib import Path

ROOM = "tools/terminal/"
#: Where else something is written, and why that needs no such care.
WRITERS = {
    "tools/archive_tool/dump_views.py": "JSON, made fit there",
    "tools/archive_tool/tool_terminal.py": "made fit there",
    "tools/bench/bench_command.py": "words of our own",
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
}
WRITES = re.compile(
    r"\b(?:sys\.)?(?:stdout|stderr)\.write(?:lines)?\(|\btyper\.echo\(|(?<![\w.])print\("
    r"|\bself\.out\.write\(|\bwfile\.write\(|\bjson\.dump\("
)


def test_commands_print_in_one_place(checkout: Path, tracked: list[Path]):
    found = {
        str(path.relative_to(checkout))
        for path in tracked
        if path.suffix == ".py" and str(path.relative_to(checkout)).startswith("tools/")
        if WRITES.search(path.read_text())
    }
    outside = {name for name in found if not name.startswith(ROOM)}
    assert not outside - WRITERS.keys(), "print with aerolog.tools.terminal"
    assert not WRITERS.keys() - outside, "writes nothing any more, take it off the list"
