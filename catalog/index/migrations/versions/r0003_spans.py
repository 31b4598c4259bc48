"""An index that finds recordings by a range of time, in classes of their durations."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

LASTED = "CAST(stop_time_ms AS DOUBLE PRECISION) - start_time_ms"
SPAN_CLASS = f"""(CASE WHEN stop_time_ms IS NULL THEN 12
    WHEN {LASTED} < 1000 THEN 0
    WHEN {LASTED} < 8000 THEN 1
    WHEN {LASTED} < 64000 THEN 2
    WHEN {LASTED} < 512000 THEN 3
    WHEN {LASTED} < 4096000 THEN 4
    WHEN {LASTED} < 32768000 THEN 5
    WHEN {LASTED} < 262144000 THEN 6
    WHEN {LASTED} < 2097152000 THEN 7
    WHEN {LASTED} < 16777216000 THEN 8
    WHEN {LASTED} < 134217728000 THEN 9
    WHEN {LASTED} < 1073741824000 THEN 10
    ELSE 11 END)"""


def upgrade() -> None:
    """Create the index."""
    op.create_index(
        op.f("ix_recordings_span_class"),
        "recordings",
        [sa.text(SPAN_CLASS), "start_time_ms"],
        unique=False,
    )


def downgrade() -> None:
    """Drop the index."""
    op.drop_index(op.f("ix_recordings_span_class"), table_name="recordings")
