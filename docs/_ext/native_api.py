# ruff: noqa: INP001 - Sphinx loads it by its folder
"""Signatures of native modules for autodoc.

A compiled function knows the names of its arguments, the stub beside it their types. Autodoc is
told to leave stubs alone, since they have few docstrings, and is given their signatures here.
"""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from stubs import arguments_of, functions_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

os.environ["SPHINX_AUTODOC_IGNORE_NATIVE_MODULE_TYPE_STUBS"] = "1"
Signature = tuple[str, str | None]


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
    qualified = getattr(obj, "__qualname__", name.rpartition(".")[2])
    function = functions_of(stub).get(f"{qualified}.__init__" if what == "class" else qualified)
    if function is None:
        return None
    returns = None if what == "class" or not function.returns else ast.unparse(function.returns)
    return arguments_of(function, is_method="." in qualified or what == "class"), returns


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
