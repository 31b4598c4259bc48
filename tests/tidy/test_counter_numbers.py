"""Numbers of counter types and of system counters stand in their tables alone.

Whoever asks for rows by type is held to the tables by mypy as well. Types that are not in a table,
as those of applications, may be written anywhere.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest
from product import WINGS

from aerolog.archive.protocol.counter_types import ArchiveCounterType
from aerolog.cluster.counter_types import ClusterCounterType
from aerolog.transport.counters.counter_types import CounterType
from aerolog.transport.counters.system_counters import SystemCounter

TABLES = {
    "transport/counters/counter_types.py",
    "transport/counters/counter_types.pxd",
    "transport/counters/system_counters.py",
    "archive/protocol/counter_types.py",
    "cluster/counter_types.py",
}
READ = {*WINGS, "python", "benchmarks", "examples", "scripts", "tests"}
#: Tests of the memory that counters lie in, for which a type is any number, and of what was
#: recorded from the reference, which fix the numbers once.
ANY_NUMBER = (
    "tests/unit/memory",
    "tests/fuzz/memory",
    "tests/interop/memory",
    "tests/golden",
    "tests/tidy/test_counter_numbers.py",
)
TYPES = {
    int(each) for table in (CounterType, ArchiveCounterType, ClusterCounterType) for each in table
}
#: By number, the names of what has it.
NAMES: dict[int, list[str]] = {}
for table in (CounterType, ArchiveCounterType, ClusterCounterType, SystemCounter):
    for member in table:
        NAMES.setdefault(int(member), []).append(member.name)
#: Words of a name that say nothing of which counter it is.
COMMON = {"TYPE", "TYPES", "ID", "IDS", "COUNTER", "COUNTERS"}
TYPE_NAME = re.compile(r"(^|_)(type_ids?|counter_type(_id)?)$", re.IGNORECASE)
TYPE_CONSTANT = re.compile(r"(^|_)(COUNTER_TYPES?|TYPES?|TYPE_IDS?)$")
#: Calls whose first argument is a type, and those whose first argument is a system counter's id.
BY_TYPE = {"of_type", "rows_of", "find_by_key_i64", "add_counter", "add_counter_async"}
BY_TYPE |= {"add_static_counter", "counters_of_type"}
ON_COUNTERS = {"allocate", "counter_value", "get_and_add", "counters", "counter", "system"}
HOLDERS = re.compile(
    r"counters|manager|bench|rig|site|source|destination|driver|snapshot", re.IGNORECASE
)
NATIVE_CONSTANT = re.compile(r"^\s*(?:cdef \w+ )?_?([A-Z][A-Z0-9_]+)(?:: Final)? = (\d[\d_]*)\b")
NATIVE_COMPARISON = re.compile(r"(?:type_id|COUNTER_TYPE_AT\)) *[!=]= *(\d[\d_]*)\b")
SPOKEN = re.compile(r"\b(?:counters?|counter types?|types?) \(?(?:type )?(\d+)\b", re.IGNORECASE)


def words(name: str) -> set[str]:
    return {word.removesuffix("S") for word in name.upper().strip("_").split("_")} - {
        word.removesuffix("S") for word in COMMON
    }


def is_named_after(name: str, number: int) -> bool:
    """Whether a constant has a counter's number and name, or a part of its name."""
    if TYPE_CONSTANT.search(name) and number in TYPES and number >= 100:
        return True
    own = words(name)
    return any(
        own and (own <= words(each) or own >= words(each) or len(own & words(each)) > 1)
        for each in NAMES.get(number, ())
    )


def last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def numbers(node: ast.expr | None, lines: list[bytes]) -> list[int]:
    """Numbers that an expression is, or that a set or a range has; not hexadecimal ones."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        is_hexadecimal = lines[node.lineno - 1][node.col_offset :].startswith((b"0x", b"0X"))
        return [] if is_hexadecimal else [node.value]
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        return [each for part in node.elts for each in numbers(part, lines)]
    if isinstance(node, ast.Starred):
        return numbers(node.value, lines)
    if isinstance(node, ast.Call) and last_name(node) in {"frozenset", "set", "tuple", "range"}:
        return [each for part in node.args for each in numbers(part, lines)]
    return []


def in_comparison(node: ast.Compare, lines: list[bytes]) -> bool:
    sides = [node.left, *node.comparators]
    named = any(TYPE_NAME.search(last_name(side)) for side in sides)
    return named and any(each in TYPES for side in sides for each in numbers(side, lines))


def in_call(node: ast.Call, lines: list[bytes]) -> bool:
    by_keyword = any(
        TYPE_NAME.search(one.arg or "") and TYPES & {*numbers(one.value, lines)}
        for one in node.keywords
    )
    name = last_name(node.func)
    holder = last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    found = numbers(node.args[0], lines) if node.args else []
    if name == "get" and holder == "system":
        return by_keyword or bool(found)
    is_asked = name in BY_TYPE or (name in ON_COUNTERS and HOLDERS.search(holder))
    return by_keyword or bool(is_asked and any(each in NAMES for each in found))


def in_constant(node: ast.Assign | ast.AnnAssign, lines: list[bytes]) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if len(targets) != 1 or node.value is None:
        return False
    names, values = [targets[0]], [node.value]
    if isinstance(targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
        names, values = targets[0].elts, node.value.elts
    for target, value in zip(names, values, strict=False):
        name, found = getattr(target, "id", ""), numbers(value, lines)
        if not name.isupper():
            continue
        if len(found) == 1 and is_named_after(name, found[0]):
            return True
        if len(found) > 1 and TYPE_CONSTANT.search(name) and {*found} <= TYPES:
            return True
    return False


def in_dict(node: ast.Dict, lines: list[bytes]) -> bool:
    keys = [each for key in node.keys for each in numbers(key, lines)]
    return len(keys) > 2 and min(keys) >= 100 and {*keys} <= TYPES


def in_python(text: str) -> Iterator[int]:
    """The lines of Python that have the number of a counter."""
    checks = {
        ast.Compare: in_comparison,
        ast.Call: in_call,
        ast.Assign: in_constant,
        ast.AnnAssign: in_constant,
        ast.Dict: in_dict,
    }
    lines = text.encode().splitlines()
    for node in ast.walk(ast.parse(text)):
        check = checks.get(type(node))
        if check is not None and check(node, lines):
            yield node.lineno


def in_native(text: str) -> Iterator[int]:
    """The lines of Cython that have one."""
    for number, line in enumerate(text.splitlines(), 1):
        constant, comparison = NATIVE_CONSTANT.match(line), NATIVE_COMPARISON.search(line)
        named = constant and is_named_after(constant[1], int(constant[2]))
        if named or (comparison and int(comparison[1]) in TYPES):
            yield number


def in_words(text: str) -> Iterator[int]:
    """The lines of a page that call a counter by its number."""
    for number, line in enumerate(text.splitlines(), 1):
        spoken = [int(each) for each in SPOKEN.findall(line)]
        if "counter" in line.lower() and any(each in NAMES for each in spoken):
            yield number


FINDERS = {".py": in_python, ".pyi": in_python, ".pyx": in_native, ".pxd": in_native}


def test_numbers_of_counters_stand_in_their_tables(checkout: Path, tracked: list[Path]):
    found = []
    for path in tracked:
        name = path.relative_to(checkout).as_posix()
        if path.suffix not in FINDERS or name.split("/")[0] not in READ or name in TABLES:
            continue
        if not name.startswith(ANY_NUMBER):
            found += [
                f"{name}:{line}" for line in sorted({*FINDERS[path.suffix](path.read_text())})
            ]
    assert found == [], "use the names of the tables of counters"


def test_pages_call_counters_by_their_names(checkout: Path, tracked: list[Path]):
    apart = ("docs/spec/", "docs/compatibility/", "docs/decisions/")
    pages = [
        path
        for path in tracked
        if path.suffix == ".md"
        and PurePosixPath(path.relative_to(checkout)).parts[0] == "docs"
        and not path.relative_to(checkout).as_posix().startswith(apart)
    ]
    assert len(pages) > 40
    found = [f"{path.name}:{line}" for path in pages for line in in_words(path.read_text())]
    assert found == []


def test_the_page_of_changes_has_no_number_of_a_counter(checkout: Path):
    page = (checkout / "docs" / "where-is-what.md").read_text()
    section = page.split("\n## A driver counter\n")[1].split("\n## ")[0]
    assert re.findall(r"\d+", re.sub(r"^\d+\. |`[^`]*`", "", section, flags=re.MULTILINE)) == []


def test_native_code_has_the_same_types(checkout: Path):
    text = (checkout / "transport/counters/counter_types.pxd").read_text()
    native = {
        name: int(number) for name, number in re.findall(r"^    (\w+) = (\d+)$", text, re.MULTILINE)
    }
    assert native
    assert native == {name: int(CounterType[name]) for name in native}


@pytest.mark.parametrize(
    "line",
    [
        "if counter.type_id == 100: pass",
        "if snapshot.type_ids[row] in {4, 12}: pass",
        "found = aeron.counters.find(type_id=11)",
        "driver.of_type(103)",
        "snapshot.rows_of({100})",
        "driver.system.get(15)",
        "counters.allocate(18, 'mdc-num-dest')",
        "HEARTBEAT: Final = 11",
        "RECORDING_POSITION_TYPE_ID = 100",
        "_ARCHIVE_MAX_CYCLE, _OTHER = 103, 104.0",
        "_LOST_TYPE: Final = 10_012",
        "_STREAM_TYPES: Final = frozenset({1, 2, 3})",
        "_COUNTER_TYPES = frozenset((*range(101, 114),))",
        "METRICS = {101: 'a', 102: 'b', 105: 'c'}",
    ],
)
def test_a_number_is_found_in_each_of_its_forms(line: str):
    assert list(in_python(line)) == [1]


def test_what_is_no_number_of_a_counter_is_left_alone():
    for line in (
        "if type_id == 0x02: pass",
        "aeron.add_counter(1001, 'mine')",
        "RETRIES = 11",
        "file.allocate(0, length)",
        "MODULE_SNAPSHOT_TYPE_ID: Final = 1",
    ):
        assert list(in_python(line)) == [], line


def test_numbers_are_found_in_native_code_and_on_pages():
    native = "cdef enum:\n    HEARTBEAT_TYPE_ID = 11\n    OTHER = 11\nif type_id == 100:\n"
    assert list(in_native(native)) == [2, 4]
    assert list(in_words("and counter 15 says it\na counter (type 214) says it\n15 counters")) == [
        1,
        2,
    ]
