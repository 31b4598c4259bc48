"""What begins with an underscore belongs to its module: no other module reaches for it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PRODUCT = ("transport", "archive", "cluster", "catalog", "tools", "python", "benchmarks")
#: Folders whose reaches are being closed; to be emptied.
EXCEPT = ("archive/client/",)
#: Documented in spite of their underscore (tuples, enumerations, os); pyspark's way to its JVM.
NAMED_TUPLES = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
ENUMERATIONS = {"_generate_next_value_", "_name_", "_value2member_map_", "_value_"}
DOCUMENTED = NAMED_TUPLES | ENUMERATIONS | {"_exit", "_ensure_initialized", "_gateway", "_jvm"}
PRIVATE = re.compile(r"_[A-Za-z]\w*")
NOT_CODE = re.compile(r'"""(?:.|\n)*?"""|"[^"\n]*"|\'[^\'\n]*\'|#.*')
CIMPORT = re.compile(r"^from +aerolog\S* +cimport +(\([^)]*\)|.*)$", re.MULTILINE)
DECLARED = re.compile(r"\b([A-Z]\w*)\s+(\w+)\b")
DEFINED = re.compile(r"^\s*(?:cdef|cpdef|def)\b[^\n=(]*?(_[A-Za-z]\w*)", re.MULTILINE)
NATIVE_REACH = re.compile(r"(?:<(\w+)\??>\s*[\w.\[\]]+\)|(?<!\w)(\w+)|[)\]])\.(?=(_[A-Za-z]\w*))")


def own_names(tree: ast.Module) -> set[str]:
    """Private names that a module itself defines, imports under or sets on its objects."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in {"self", "cls", "mcs"}:
                found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)  # __slots__
    return found


def reaches(source: str) -> Iterator[tuple[int, str]]:
    """Lines that use another module's private names."""
    tree = ast.parse(source)
    own = own_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aerolog"):
            for alias in node.names:
                if PRIVATE.fullmatch(alias.name) and alias.name != "_version":
                    yield node.lineno, f"from {node.module} import {alias.name}"
        elif isinstance(node, ast.Attribute) and PRIVATE.fullmatch(node.attr):
            of_self = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls", "mcs"}
            of_super = isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()"
            if not (of_self or of_super or node.attr in own or node.attr in DOCUMENTED):
                yield node.lineno, ast.unparse(node)


def native_reaches(source: str, header: str = "") -> Iterator[tuple[int, str]]:
    """Lines of a native module that use fields or methods private to a class of another one.

    Args:
        source: of the module.
        header: its .pxd.
    """
    source, header = (
        NOT_CODE.sub(lambda found: "\n" * found[0].count("\n"), text) for text in (source, header)
    )
    both = source + header
    others = {name for names in CIMPORT.findall(both) for name in re.findall(r"\w+", names)}
    theirs = {name for of, name in DECLARED.findall(both) if of in others}
    own = {*re.findall(r"\bself\.(_\w+)", both), *DEFINED.findall(both)}
    for number, line in enumerate(source.splitlines(), 1):
        for found in NATIVE_REACH.finditer(line):
            cast, of, name = found.groups()
            is_other = cast in others or of in theirs or name not in own
            if of not in {"self", "cls"} and is_other:
                yield number, line.strip()


def test_no_module_reaches_into_another(checkout: Path, tracked: list[Path]):
    found = []
    for path in tracked:
        place = path.relative_to(checkout).as_posix()
        if path.suffix == ".py" and place.startswith(PRODUCT) and not place.startswith(EXCEPT):
            found += [f"{place}:{line}: {what}" for line, what in reaches(path.read_text())]
    assert not found, "\n".join(found)


def test_reaches_are_found():
    assert list(reaches("from aerolog.archive.client import _Core\n"))
    assert list(reaches("def ask(client):\n    return client._core\n"))
    assert not list(
        reaches("class A:\n    def b(self, other):\n        return self._c < other._c\n")
    )


def test_no_native_module_reaches_into_another(checkout: Path, tracked: list[Path]):
    found = []
    for path in tracked:
        place = path.relative_to(checkout).as_posix()
        if path.suffix in {".pyx", ".pxd"} and place.startswith(PRODUCT):
            header = path.with_suffix(".pxd")
            has_header = path.suffix == ".pyx" and header in tracked
            text = header.read_text() if has_header else ""
            for line, what in native_reaches(path.read_text(), text):
                found.append(f"{place}:{line}: {what}")
    assert not found, "\n".join(found)


def test_native_reaches_are_found():
    begin = "from aerolog.transport.a cimport (\n    B,\n)\ncdef class C:\n    cdef int _d\n"
    for line in (
        "    cdef int x(self, B other): return other._e",
        "    cdef B other\n    cdef int x(self): return self.other._d",
        "    cdef int x(self): return (<B> self.items[0])._d",
        "    cdef int x(self): return self.items[0]._e",
    ):
        assert list(native_reaches(begin + line + "\n")), line
    for line in (
        "    cdef int x(self, C other): return self._d + other._d",
        "    cdef int x(self): return (<C> self.items[0])._d  # not other._e",
        "    cdef int x(self, B other): return other.e",
    ):
        assert not list(native_reaches(begin + line + "\n")), line
