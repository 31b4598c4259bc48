# ruff: noqa: INP001 - Sphinx loads it by its folder
"""Signatures of native modules for autodoc.

A compiled function knows the names of its arguments, the stub beside it their types. Autodoc is
told to leave stubs alone, since they have few docstrings, and is given their signatures here.
"""

from __future__ import annotations

import ast
import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

os.environ["SPHINX_AUTODOC_IGNORE_NATIVE_MODULE_TYPE_STUBS"] = "1"
Signature = tuple[str, str | None]


@cache
def stub_signatures(path: Path) -> dict[str, Signature]:
    """Signatures by qualified name of all functions and methods in a stub."""
    found: dict[str, Signature] = {}

    def look(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                look(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                returns = ast.unparse(node.returns) if node.returns else None
                found.setdefault(prefix + node.name, (_arguments(node, bool(prefix)), returns))

    look(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef, is_method: bool) -> str:
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    arguments = node.args
    if is_method and "staticmethod" not in decorators:
        ordered = arguments.posonlyargs or arguments.args
        del ordered[:1]
    return f"({ast.unparse(arguments)})"


def native_signature(
    app: Sphinx,  # noqa: ARG001 - the hook has it
    what: str,
    name: str,
    obj: Any,
    options: Any,  # noqa: ARG001
    signature: str | None,
    return_annotation: str | None,  # noqa: ARG001
) -> Signature | None:
    """The stub's signature, or None to leave what autodoc found."""
    if signature is None:  # of a class that only others make; autodoc expects no answer then
        return None
    module = sys.modules.get(getattr(obj, "__module__", None) or "")
    file = getattr(module, "__file__", None) or ""
    if not file.endswith(".so"):
        return None
    stub = Path(file.partition(".cpython-")[0] + ".pyi")
    if not stub.exists():
        return None
    signatures = stub_signatures(stub)
    qualified = getattr(obj, "__qualname__", name.rpartition(".")[2])
    if what == "class":
        made = signatures.get(f"{qualified}.__init__")
        return (made[0], None) if made else None
    return signatures.get(qualified)


def without_signature(
    app: Sphinx,  # noqa: ARG001
    what: str,  # noqa: ARG001
    name: str,
    obj: Any,  # noqa: ARG001
    options: Any,  # noqa: ARG001
    lines: list[str],
) -> None:
    """Takes out the first line that the compiler puts before a docstring."""
    own = name.rpartition(".")[2]
    if lines and lines[0].startswith((f"{own}(", f"{own}:")):
        del lines[0]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connects the hooks."""
    app.connect("autodoc-process-signature", native_signature)
    app.connect("autodoc-process-docstring", without_signature, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
