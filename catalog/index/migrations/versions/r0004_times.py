"""Time indexes as spans of time, and the end of holds; a sync fills both from the folder."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Drop and create the tables: no version has ever written to the old ones."""
    op.drop_table("time_index")
    op.drop_table("holds")
    op.create_table(
        "time_index_files",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("is_rebuilt", sa.Integer(), nullable=False),
        sa.Column("shift", sa.Integer(), nullable=False),
        sa.Column("first_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_ns", sa.BigInteger(), nullable=False),
        sa.Column("steps_back", sa.BigInteger(), nullable=False),
        sa.Column("start_position", sa.BigInteger(), nullable=False),
        sa.Column("end_position", sa.BigInteger(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=True),
        sa.Column("modified_ns", sa.BigInteger(), nullable=True),
        _of_recording("time_index_files"),
        sa.PrimaryKeyConstraint("recording_fk", name=op.f("pk_time_index_files")),
    )
    op.create_table(
        "time_index",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("time_ns", sa.BigInteger(), nullable=False),
        sa.Column("until_ns", sa.BigInteger(), nullable=True),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("until_position", sa.BigInteger(), nullable=True),
        _of_recording("time_index"),
        sa.PrimaryKeyConstraint("recording_fk", "time_ns", name=op.f("pk_time_index")),
    )
    op.create_table(
        "holds",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=True),
        sa.Column("since_ms", sa.BigInteger(), nullable=False),
        _of_recording("holds"),
        sa.PrimaryKeyConstraint("recording_fk", "reason", name=op.f("pk_holds")),
    )


def downgrade() -> None:
    """Create the tables of the former revision, empty."""
    for name in ("holds", "time_index", "time_index_files"):
        op.drop_table(name)
    op.create_table(
        "holds",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        _of_recording("holds"),
        sa.PrimaryKeyConstraint("recording_fk", "reason", name=op.f("pk_holds")),
    )
    op.create_table(
        "time_index",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("time_ns", sa.BigInteger(), nullable=False),
        _of_recording("time_index"),
        sa.PrimaryKeyConstraint("recording_fk", "position", name=op.f("pk_time_index")),
    )


def _of_recording(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_recording_fk")
    return sa.ForeignKeyConstraint(["recording_fk"], ["recordings.id"], name=name)
