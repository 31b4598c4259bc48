"""Objects that properties name, where the reference's name a Java class (spec configuration 15)."""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import Any, Final

from aerolog.transport.errors import ConfigurationError

_OBJECT_NAME: Final = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


def is_object_name(text: str) -> bool:
    """Return whether a text has the form ``MODULE:NAME``."""
    return _OBJECT_NAME.fullmatch(text) is not None


def object_of(name: str, setting: str) -> Any:
    """Import what ``MODULE:NAME`` names; modules of the current folder can be imported.

    Args:
        name: the text to read.
        setting: the property that has it, for the error.

    Raises:
        ConfigurationError: there is no such object, or the text is none of that form.
    """
    if not is_object_name(name):
        raise ConfigurationError(f"{setting} is MODULE:NAME of an object in Python, not {name!r}")
    module_name, _, path = name.partition(":")
    here = os.getcwd()  # noqa: PTH109 - as text
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module_name)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"{setting}: {name} cannot be imported: {error}") from error
    return found
