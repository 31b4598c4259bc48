"""House rules that no linter knows, held over every tracked file."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CODE = {".py", ".pyx", ".pxd", ".pyi", ".h"}
TEXT = CODE | {".md", ".toml", ".java", ".sh", ".yml", ".txt", ""}
LINE_LIMIT = 100
FILE_LIMIT = 1000
LAYERS = ("transport", "archive", "cluster", "catalog", "tools")
SEEN_BY_CLUSTER = ("client", "protocol", "format")  # of the archive
#: Rooms of the transport that only some of its other rooms may cimport.
KNOWN_TO = {
    "transport.client": {"client", "agents"},  # a component has a client
    "transport.driver": {"driver"},
    "transport.agents": {"agents", "driver"},
}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
MACHINE = re.compile(r"(^|[^A-Za-z0-9_.])/(work|root|farm|home/[a-z]+)/")
OUTSIDE = re.compile(r"AEROLOG_SHARED|\.\./shared|(?<=\.parent / )\"shared\"")
PARENT = re.compile(r"__file__\)(?:\.resolve\(\))?\.parents\[(\d+)\]")
SKIPS = {"skip", "skipif", "importorskip", "xfail"}
CIMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+cimport|cimport\s+([\w.]+))", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
FENCE = re.compile(r" *(`{3,})")
CODE_SPAN = re.compile(r"`[^`]*`")
PRAGMA = re.compile(r"\s+# (noqa|type: ignore)\b.*$")  # for checkers, not for readers
CHECKS = ("assert", "check", "expect", "raises", "warns", "verify", "fail", "run")
WAITS = ("wait", "await", "until")  # that fail when the condition does not come


def lines(path: Path) -> Iterator[tuple[int, str]]:
    return enumerate(path.read_text(errors="replace").splitlines(), 1)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a page without what it shows as it is: fences that are no directive, inline code."""
    fence = ""
    for number, line in lines(path):
        if fence:
            fence = "" if line.strip() == fence else fence
        elif (opened := FENCE.match(line)) and "{" not in line:
            fence = opened[1]
        else:
            yield number, CODE_SPAN.sub("", line)


def report(checkout: Path, found: list[tuple[Path, int, str]]) -> str:
    return "\n".join(f"{path.relative_to(checkout)}:{line}: {what}" for path, line, what in found)


def code(tracked: list[Path], *suffixes: str) -> list[Path]:
    return [path for path in tracked if path.suffix in (suffixes or CODE)]


def test_lines_are_short(checkout, tracked):
    found = [
        (path, number, f"{len(line)} columns")
        for path in code(tracked)
        for number, line in lines(path)
        if len(PRAGMA.sub("", line)) > LINE_LIMIT
    ]
    assert not found, report(checkout, found)


def test_files_are_small(checkout, tracked):
    sized = [(path, sum(1 for _ in lines(path))) for path in code(tracked)]
    found = [(path, size, f"over {FILE_LIMIT} lines") for path, size in sized if size > FILE_LIMIT]
    assert not found, report(checkout, found)


def test_nothing_is_unfinished_and_no_path_is_a_machine_s(checkout, tracked):
    own = Path(__file__)
    found = [
        (path, number, line.strip())
        for path in tracked
        if path.suffix in TEXT and path != own
        for number, line in lines(path)
        if UNFINISHED.search(line) or MACHINE.search(line)
    ]
    assert not found, report(checkout, found)


def test_every_module_says_what_it_is(checkout, tracked):
    found = [
        (path, 1, "no docstring")
        for path in code(tracked, ".py")
        if ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    for path in code(tracked, ".pyx"):
        head = (line.strip() for _, line in lines(path))
        first = next((line for line in head if line and not line.startswith("#")), "")
        if not first.startswith(('"""', 'r"""')):
            found.append((path, 1, "no docstring"))
    assert not found, report(checkout, found)


def test_every_native_module_has_a_stub(checkout, tracked):
    found = [
        (path, 1, "no .pyi beside it")
        for path in code(tracked, ".pyx")
        if path.with_suffix(".pyi") not in tracked and "benchmarks" not in path.parts
    ]
    assert not found, report(checkout, found)


def test_every_stub_has_a_native_module(checkout, tracked):
    found = [
        (path, 1, "no .pyx beside it")
        for path in code(tracked, ".pyi")
        if path.with_suffix(".pyx") not in tracked
    ]
    assert not found, report(checkout, found)


def layer_faults(path: Path, folder: str, inner: str) -> Iterator[tuple[Path, int, str]]:
    """The cimport lines of a file that point up the layers or across client and driver."""
    text = path.read_text()
    for match in CIMPORT.finditer(text):
        target = match[1] or match[2]
        parts = target.split(".")
        if parts[0] != "aerolog" or len(parts) < 2:
            continue
        number = text.count("\n", 0, match.start()) + 1
        upward = parts[1] in LAYERS and LAYERS.index(parts[1]) > LAYERS.index(folder)
        across = inner not in KNOWN_TO.get(".".join(parts[1:3]), {inner})
        if upward or parts[1] == "testing":
            yield path, number, f"{folder} may not cimport {target}"
        elif across and folder == "transport" and inner:
            yield path, number, f"transport.{inner} may not cimport {target}"
        elif folder == "cluster" and parts[1] == "archive" and parts[2] not in SEEN_BY_CLUSTER:
            yield path, number, f"cluster may not cimport {target}"


def test_cimports_follow_the_layers(checkout, tracked):
    found = []
    for path in code(tracked, ".pyx", ".pxd"):
        folder, *rest = path.relative_to(checkout).parts
        if folder in LAYERS:
            found += layer_faults(path, folder, rest[0] if len(rest) > 1 else "")
    assert not found, report(checkout, found)


def test_the_package_links_to_the_folders(checkout):
    for folder in LAYERS:
        link = checkout / "python" / "aerolog" / folder
        assert link.is_symlink()
        assert str(link.readlink()) == f"../../{folder}"
        assert link.resolve() == (checkout / folder).resolve()


def test_links_in_documents_lead_somewhere(checkout, tracked):
    found = [
        (path, number, target)
        for path in code(tracked, ".md")
        for number, line in prose(path)
        for target in LINK.findall(line)
        if "://" not in target and not target.startswith("mailto:")
        if not (path.parent / target).exists()
    ]
    assert not found, report(checkout, found)


def test_nothing_outside_the_repository_is_looked_at(checkout, tracked):
    own = Path(__file__)
    found = [
        (path, number, line.strip())
        for path in tracked
        if path.suffix in TEXT and path != own
        for number, line in lines(path)
        if OUTSIDE.search(line)
        or any(
            int(steps) >= len(path.relative_to(checkout).parts) for steps in PARENT.findall(line)
        )
    ]
    assert not found, report(checkout, found)


def test_tests_are_skipped_only_for_what_a_machine_may_lack(checkout, tracked):
    found = [
        (path, node.lineno, f"pytest.{node.attr}: tests/support/prerequisites.py has the reasons")
        for path in code(tracked, ".py")
        if path.is_relative_to(checkout / "tests") and path.name != "prerequisites.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in SKIPS
    ]
    assert not found, report(checkout, found)


def checks_something(function: ast.AST) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name.lstrip("_").startswith(CHECKS + WAITS):
                return True
    return False


def test_every_test_can_fail(checkout, tracked):
    found = [
        (path, node.lineno, f"{node.name} checks nothing")
        for path in code(tracked, ".py")
        if path.is_relative_to(checkout / "tests") and path.name.startswith("test_")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("test_") and not checks_something(node)
    ]
    assert not found, report(checkout, found)


class Sleeps(ast.NodeVisitor):
    """Finds sleeps that no loop surrounds: waiting for time instead of for a condition."""

    def __init__(self) -> None:
        self.depth = 0
        self.found: list[int] = []

    def visit_loop(self, node: ast.AST) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_While = visit_For = visit_AsyncFor = visit_loop  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        yields = len(node.args) == 1 and getattr(node.args[0], "value", None) == 0
        if name == "sleep" and not self.depth and not yields:
            self.found.append(node.lineno)
        self.generic_visit(node)


def test_tests_wait_for_conditions_not_for_time(checkout, tracked):
    found = []
    for path in code(tracked, ".py"):
        if path.is_relative_to(checkout / "tests"):
            visitor = Sleeps()
            visitor.visit(ast.parse(path.read_text()))
            found += [(path, line, "a sleep outside a waiting loop") for line in visitor.found]
    assert not found, report(checkout, found)


@pytest.mark.parametrize("suffix", [".py", ".pyx"])
def test_no_error_is_swallowed(checkout, tracked, suffix):
    swallowed = re.compile(r"except( Exception| BaseException)?( as \w+)?:\s*(#.*)?\n\s*pass\b")
    found = [
        (path, path.read_text().count("\n", 0, match.start()) + 1, "swallows every error")
        for path in code(tracked, suffix)
        for match in swallowed.finditer(path.read_text())
    ]
    assert not found, report(checkout, found)


def test_folders_of_tests_in_shared_memory_are_made_in_one_place(checkout, tracked):
    """There they have the name by which the run finds what was left."""
    made = re.compile(r"""(?<!\w)dir=["']/dev/shm|Path\(f?["']/dev/shm["'/]""")
    homes = {"tests/support/shared_memory.py", "tests/tidy/test_tidy.py"}
    found = []
    for path in tracked:
        place = path.relative_to(checkout).as_posix()
        if path.suffix == ".py" and place.startswith("tests/") and place not in homes:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if made.search(line) and ".glob(" not in line:
                    found.append(f"{place}:{number}: {line.strip()}")
    assert not found, "\n".join(found)
