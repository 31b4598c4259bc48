"""Reads stubs, which have the types of native functions, for ``help()`` and the documentation."""

from __future__ import annotations

import ast
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def functions_of(stub: Path) -> dict[str, Function]:
    """The functions of a stub by their qualified names, the first of overloads; {} without one."""
    found: dict[str, Function] = {}

    def look(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                look(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, Function):
                found.setdefault(prefix + node.name, node)

    if stub.exists():
        look(ast.parse(stub.read_text(encoding="utf-8")).body, "")
    return found


def arguments_of(function: Function, *, is_method: bool, has_types: bool = True) -> str:
    """The arguments in parentheses, without that which a call of a method supplies."""
    arguments = deepcopy(function.args)
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    if is_method and "staticmethod" not in decorators:
        del (arguments.posonlyargs or arguments.args)[:1]
    if not has_types:
        for each in ast.walk(arguments):
            if isinstance(each, ast.arg):
                each.annotation = None
    return f"({ast.unparse(arguments)})"
