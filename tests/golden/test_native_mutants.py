"""Each number of a layout in native code is changed once, and a test fails.

A copy of the tree is changed, the modules that hold the number are built, and the tests that cover
the layout run there. What is no number of a layout, such as a state of our own, is not changed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3 * 3600)]

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDERS = ("transport", "archive", "cluster", "catalog", "tools", "native", "python", "scripts")
FOLDERS += ("tests", "docs")
TABLES = "tests/golden/test_table_mutants.py"
RECORDS = f"{TABLES} -k records"
#: `NAME = number` in an enumeration or a `cdef`, and `#define NAME number`.
NUMBER = re.compile(
    r"^(?P<before>\s+|cdef \w+ |#define )(?P<name>_?[A-Z][A-Z0-9_]+)(?P<is> = | )"
    r"(?P<value>(?:0x)?[0-9A-F]+u?|-1|[A-Z0-9_]+(?: \+ \d+)?)(?P<after>\s*(#.*)?)$"
)


class Layout(NamedTuple):
    """A source with numbers of a layout.

    Attributes:
        modules: what is built with it, as `AEROLOG_EXT` takes it; none where tests read the text.
        tests: what runs.
        names: which of its numbers are of the layout.
        left: numbers among them that no test can tell from the next one, with the reason.
    """

    modules: str
    tests: tuple[str, ...]
    names: str = ""
    left: frozenset[str] = frozenset()


MEMORY = "aerolog.transport.memory"
LAYOUTS = {
    "transport/protocol/frames.pxd": Layout(
        "aerolog.transport.protocol.frames",
        (f"{TABLES} -k frame", "tests/unit/protocol/test_frames.py"),
        left=frozenset({"FRAME_INVALID"}),  # our word for what is no frame
    ),
    "transport/memory/counters.pxd": Layout(f"{MEMORY}.counters", (RECORDS,)),
    "transport/memory/error_log.pyx": Layout(f"{MEMORY}.error_log", (RECORDS,)),
    "transport/memory/loss_report.pyx": Layout(f"{MEMORY}.loss_report", (RECORDS,)),
    "transport/memory/records.pxd": Layout(
        f"{MEMORY}.ring_buffer,{MEMORY}.broadcast,{MEMORY}.error_log", (RECORDS,)
    ),
    "transport/memory/ring_buffer.pyx": Layout(
        f"{MEMORY}.ring_buffer", (RECORDS,), names=".*_AT|TRAILER"
    ),
    "transport/memory/broadcast.pyx": Layout(f"{MEMORY}.broadcast", (RECORDS,)),
    "transport/logbuffer/descriptor.pxd": Layout(
        "aerolog.transport.logbuffer.descriptor",
        (f"{TABLES} -k log", "tests/unit/logbuffer/test_descriptor.py"),
        left=frozenset({"META_DEFAULT_HEADER"}),  # of which the cleaner makes use
    ),
    "transport/logbuffer/descriptor.pxd appender": Layout(
        "aerolog.transport.logbuffer.base_appender,aerolog.transport.logbuffer.appender",
        ("tests/unit/logbuffer/test_appender.py",),
        names="META_TAIL_COUNTERS|META_ACTIVE_TERM_COUNT",
    ),
    "transport/logbuffer/descriptor.pxd cleaner": Layout(
        "aerolog.transport.logbuffer.cleaner",
        ("tests/unit/logbuffer/test_cleaner.py",),
        names="META_DEFAULT_HEADER",
    ),
    "archive/protocol/offsets.pxd": Layout(
        "", ("tests/unit/archive_protocol/test_native_offsets.py",)
    ),
    "cluster/protocol/session_header.pxd": Layout(
        "", ("tests/unit/cluster_protocol/test_native_header.py",)
    ),
    "native/aerolog_crc.h": Layout(
        "aerolog.archive.format.checksum",
        ("tests/golden/archive", "tests/unit/archive_format/test_checksum.py"),
        names=".*POLYNOMIAL",
    ),
}


class Tree:
    """A copy of the tree that is built with other numbers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in FOLDERS:
            shutil.copytree(CHECKOUT / folder, root / folder, symlinks=True)
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy2(CHECKOUT / name, root / name)
        if (CHECKOUT / "build" / "cython").exists():
            shutil.copytree(CHECKOUT / "build" / "cython", root / "build" / "cython")

    def build(self, modules: str) -> bool:
        """Builds some modules; returns whether they can be built."""
        if not modules:
            return True
        done = self._run(["setup.py", "-q", "build_ext", "--inplace"], AEROLOG_EXT=modules)
        return done == 0

    def passes(self, tests: tuple[str, ...]) -> bool:
        """Whether all tests pass."""
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
        return all(self._run(["-m", "pytest", *options, *words.split()]) == 0 for words in tests)

    def _run(self, words: list[str], **environment: str) -> int:
        env = {**os.environ, "PYTHONPATH": str(self.root / "python"), "AEROLOG_OPTIMIZE": "0"}
        env.pop("AEROLOG_LONG", None)
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env=env | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=1800,
        ).returncode


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("mutants") / "tree")


def mutants(text: str, names: str) -> Iterator[tuple[str, str]]:
    """The numbers of a source, each with the source in which it is more by one."""
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        found = NUMBER.match(line.rstrip("\n"))
        if found and re.fullmatch(names or ".*", found["name"]):
            value = found["value"]
            more = f"({value} + 1)" if found["is"] == " " else f"{value} + 1"
            changed = f"{found['before']}{found['name']}{found['is']}{more}{found['after']}\n"
            yield found["name"], "".join([*lines[:at], changed, *lines[at + 1 :]])


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_number_of_a_layout_is_noticed(tree: Tree, name: str) -> None:
    layout = LAYOUTS[name]
    source = tree.root / name.split(maxsplit=1)[0]
    text = source.read_text(encoding="utf-8")
    assert tree.build(layout.modules)
    assert tree.passes(layout.tests)
    survivors, tried = [], 0
    for number, changed in mutants(text, layout.names):
        if number in layout.left:
            continue
        tried += 1
        source.write_text(changed, encoding="utf-8")
        if tree.build(layout.modules) and tree.passes(layout.tests):
            survivors.append(number)
    source.write_text(text, encoding="utf-8")
    assert tree.build(layout.modules)
    assert tried
    assert not survivors, f"{len(survivors)} of {tried} numbers may change unnoticed"
