"""No property of a driver is accepted and forgotten: it is read, or its line says why not."""

import ast
from pathlib import Path

import pytest

from aerolog.transport.config import settings
from aerolog.transport.driver import properties
from aerolog.transport.events import properties as event_properties

DRIVER = Path(properties.__file__).parent
# What driver and archive log is read by a piece of both.
EVENTS = Path(event_properties.__file__).parent
# Strictness is of all settings, and read where they are made.
CONFIG = Path(settings.__file__).parent
READERS = [
    path
    for folder in (DRIVER, EVENTS, CONFIG)
    for path in sorted(folder.rglob("*.py"))
    if path.name != "properties.py"
]
NAMES = {
    value: name
    for module in (properties, event_properties)
    for name, value in vars(module).items()
    if value in properties.PROPERTIES
}
CHECKS = ("check_", "_check_", "validate")
# Read by a function beside the table.
BESIDE_THE_TABLE = {properties.DIR}


def _is_check(node):
    return isinstance(node, ast.FunctionDef) and node.name.startswith(CHECKS)


def names_used_in(path):
    """Names in the code of a module; validation of settings gives them no effect."""
    waiting = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if path.name == "validation.py" and _is_check(node):
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


USED = {name for path in READERS for name in names_used_in(path)}


def test_every_property_has_a_name():
    assert set(NAMES) == set(properties.PROPERTIES)


@pytest.mark.parametrize("prop", properties.PROPERTIES, ids=lambda prop: prop.name)
def test_a_property_is_read_or_says_that_it_is_without_effect(prop):
    is_read = NAMES[prop] in USED or prop in BESIDE_THE_TABLE

    assert is_read is not prop.meaning.startswith("without effect")
