"""What a database says of the tables of a catalog, a line for each thing that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

if TYPE_CHECKING:
    from collections.abc import Iterator

_PARTS = ("unique_constraints", "foreign_keys", "check_constraints")
_INDEX_TEXTS = {
    "sqlite": "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    "postgresql": "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()",
}


def schema_lines(engine: sa.Engine) -> list[str]:
    """Tables with their columns, keys and constraints in order, then the texts of the indexes."""
    inspector = sa.inspect(engine)
    lines = []
    for table in sorted(set(inspector.get_table_names()) - {"alembic_version"}):
        lines += [f"{table}: {line}" for line in _table_lines(inspector, table)]
    with engine.connect() as connection:
        texts = connection.execute(sa.text(_INDEX_TEXTS[engine.dialect.name])).scalars()
        found = [" ".join(str(text).split()) for text in texts]
    return lines + sorted(text for text in found if "alembic_version" not in text)


def _table_lines(inspector: sa.Inspector, table: str) -> Iterator[str]:
    for column in inspector.get_columns(table):
        yield f"column {_words(column)}"
    yield f"primary key {_words(inspector.get_pk_constraint(table))}"
    for part in _PARTS:
        found = getattr(inspector, f"get_{part}")(table)
        yield from sorted(f"{part[:-1].replace('_', ' ')} {_words(one)}" for one in found)


def _words(values: Any) -> str:
    """What is set of a reflected thing, by name."""
    return ", ".join(
        f"{name}={value}"
        for name, value in sorted(values.items())
        if value not in (None, {}, []) and name not in ("comment", "dialect_options")
    )
