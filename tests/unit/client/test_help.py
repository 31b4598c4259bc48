"""What `help` and editors show of the native classes that programs use."""

import importlib
import inspect

import pytest

from aerolog.transport.client import Publication


def native_functions(package: str) -> dict[str, object]:
    """The public methods of a package's public classes that are compiled, by qualified names."""
    module = importlib.import_module(package)
    classes = [one for name in module.__all__ if isinstance(one := getattr(module, name), type)]
    found = {}
    for one in {base for listed in classes for base in listed.__mro__}:
        for name, member in vars(one).items():
            function = getattr(member, "__func__", member)
            if not name.startswith("_") and "cython_function" in type(function).__name__:
                found[function.__qualname__] = function
    return found


@pytest.mark.parametrize("package", ["aerolog.transport.client", "aerolog.archive.client"])
def test_native_methods_tell_the_types_of_their_stubs(package):
    functions = native_functions(package)
    assert functions
    untyped = [
        f"{name}: {parameter}"
        for name, function in functions.items()
        for parameter in [*list(inspect.signature(function).parameters)[1:], "return"]
        if parameter not in function.__annotations__
    ]
    assert untyped == []


def test_the_help_of_a_method_shows_them():
    first = (Publication.offer.__doc__ or "").partition("\n")[0]
    assert first.startswith("offer(self, data: Buffer, *, reserved_value: int | ")
    assert first.endswith(" = None) -> int | OfferStatus")
