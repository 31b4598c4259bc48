"""Imports optional packages where they are first needed, with one error when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from aerolog.transport.errors import MissingExtraError

_EXTRAS = {
    "pyarrow": "arrow",
    "numpy": "arrow",
    "pandas": "pandas",
    "polars": "polars",
    "sqlalchemy": "sql",
    "alembic": "sql",
    "xxhash": "sql",
    "psycopg": "postgres",
    "duckdb": "duckdb",
    "msgpack": "decoders",
    "google": "decoders",
    "fastavro": "decoders",
    "pyspark": "spark",
    "textual": "top",
    "prometheus_client": "metrics",
    "opentelemetry": "metrics",
}


def require(module: str, purpose: str) -> Any:
    """Import an optional module.

    Args:
        module: the module's dotted name, such as ``pyarrow.parquet``.
        purpose: what needs the module: the subject of the error's sentence.

    Raises:
        MissingExtraError: the module is not installed; the text names the extra that provides it.
    """
    root = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != root:
            raise
        raise MissingExtraError(_EXTRAS[root], purpose) from error
