"""The forms of the archive client: the same operations, each with its own type and words."""

import inspect

from aerolog.archive.client import AeronArchive, AsyncAeronArchive


def test_operations_show_the_types_of_their_form():
    recordings = inspect.signature(AeronArchive.recordings)
    assert recordings.return_annotation == "Iterator[RecordingDescriptor]"
    assert inspect.signature(AeronArchive.stop_position).return_annotation == "int | None"


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


def test_both_clients_have_the_same_operations_and_each_says_what_it_does():
    assert public(AsyncAeronArchive) - public(AeronArchive) == {"connect"}
    assert public(AeronArchive) - public(AsyncAeronArchive) == set()
    for kind in (AeronArchive, AsyncAeronArchive):
        undocumented = {name for name in public(kind) if not getattr(kind, name).__doc__}
        assert not undocumented
