"""Tables for time indexes and for holds against retention."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "holds",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_holds_recording_fk")
        ),
        sa.PrimaryKeyConstraint("recording_fk", "reason", name=op.f("pk_holds")),
    )
    op.create_table(
        "time_index",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("time_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_time_index_recording_fk")
        ),
        sa.PrimaryKeyConstraint("recording_fk", "position", name=op.f("pk_time_index")),
    )


def downgrade() -> None:
    """Drop the tables."""
    for name in (
        "time_index",
        "holds",
    ):
        op.drop_table(name)
