"""What holds places, URLs, settings or credentials has no secrets in its ``repr``."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

import pytest

import aerolog
from aerolog.archive.protocol.session_requests import AuthConnectRequest
from aerolog.catalog.export.pipeline.job import parse_job
from aerolog.transport.config.sources import RawValue
from aerolog.transport.credentials import HmacCredentials, PasswordCredentials

if TYPE_CHECKING:
    from collections.abc import Iterator

URL = "s3://AKIA:hu/sh+hush=@bucket/path?secret_key=hush"
#: Fields that hold what a user gave or what is read from a user's settings.
TEXTS = {
    "place", "url", "to", "archive_dir", "archive_dirs", "master", "catalog", "catalogs", "target",
    "spark_conf", "decoder_options", "archive",
}  # fmt: skip
#: Classes whose folder is on this machine.
LOCAL = {
    "Retention", "RecordedFrames", "_JoinedFrames", "ArchiveSnapshot", "ArchiveFigures", "Member",
}  # fmt: skip
PROOFS = {"credentials", "password"}


def holders() -> Iterator[tuple[type, tuple[str, ...]]]:
    """Classes of values with such fields, and the names of these."""
    for module in pkgutil.walk_packages(aerolog.__path__, "aerolog."):
        if module.name.endswith(("__main__", "migrations.env")) or ".testing" in module.name:
            continue
        for cls in vars(importlib.import_module(module.name)).values():
            if not isinstance(cls, type) or cls.__module__ != module.name or cls.__name__ in LOCAL:
                continue
            names = tuple(name for name, of in fields_of(cls) if is_meant(name, of))
            if names:
                yield cls, names


def fields_of(cls: type) -> list[tuple[str, str]]:
    if dataclasses.is_dataclass(cls):
        return [(one.name, str(one.type)) for one in dataclasses.fields(cls)]
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return [(name, str(cls.__annotations__.get(name))) for name in cls._fields]
    return []


def is_meant(name: str, of: str) -> bool:
    return (name in TEXTS and ("str" in of)) or (name in PROOFS and ("bytes" in of or of == "str"))


def value_for(name: str) -> Any:
    if name in PROOFS:
        return b"hush"
    if name in {"spark_conf", "decoder_options"}:
        return {"spark.hadoop.fs.s3a.secret.key": "hush", "url": URL}
    return (URL,) if name.endswith("s") else URL


@pytest.mark.parametrize(
    ("cls", "names"), [pytest.param(*one, id=one[0].__qualname__) for one in holders()]
)
def test_of_a_class(cls: type, names: tuple[str, ...]) -> None:
    values = {name: value_for(name) if name in names else None for name, _ in fields_of(cls)}
    values |= {"variables": {}} if "variables" in values else {}
    if issubclass(cls, tuple):
        shown = repr(cls(**values))
    else:
        one = object.__new__(cls)
        for name, value in values.items():
            object.__setattr__(one, name, value)
        shown = repr(one)
    assert cls.__name__ in shown
    assert "hush" not in shown


def test_those_that_hold_most_are_among_them() -> None:
    names = {cls.__name__ for cls, _ in holders()}
    assert {"Job", "Output", "PlacedRecording", "ReadOptions", "PasswordCredentials"} <= names


def test_of_a_job_that_has_values_of_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHATEVER", "hush")
    job = parse_job(
        {
            "name": "orders",
            "archive-dir": "/archive",
            "output": {"to": "/lake/${WHATEVER}"},
            "spark": {"conf": {"spark.any": "${WHATEVER}"}},
        },
        "job.toml",
    )
    assert "hush" in job.output.to
    assert "hush" not in repr(job)
    assert "/lake/${WHATEVER}" in repr(job)


def test_of_settings_and_requests() -> None:
    request = AuthConnectRequest(
        correlation_id=1,
        response_stream_id=2,
        response_channel="aeron:udp",
        encoded_credentials=b"me:hush",
    )
    assert "hush" not in repr(RawValue("http://me:hush@h/x?token=hush", "environment"))
    assert "hush" not in repr(request)
    assert "hush" not in repr(PasswordCredentials("me", "hush"))
    assert "hush" not in repr(HmacCredentials("me", b"hush" * 4))
