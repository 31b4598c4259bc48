"""Objects of public classes say what they are."""

import enum
import importlib

import pytest

PACKAGES = (
    "aerolog.transport.client",
    "aerolog.transport.driver",
    "aerolog.archive.client",
    "aerolog.archive.service",
    "aerolog.archive.verification",
    "aerolog.catalog.index",
    "aerolog.catalog.export",
)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_classes_have_a_repr_of_their_own(package: str) -> None:
    module = importlib.import_module(package)
    without = [
        name
        for name in module.__all__
        if isinstance(found := getattr(module, name), type)
        and not issubclass(found, (BaseException, enum.Enum))
        and name != "PersistentSubscriptionListener"  # which programs subclass
        and not getattr(found, "_is_protocol", False)
        and found.__repr__ is object.__repr__
    ]
    assert without == []
