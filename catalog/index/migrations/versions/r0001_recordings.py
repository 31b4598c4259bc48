"""The tables: recordings with their segments, times, labels, holds, exports, lineage and marks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")

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
    """Create the tables."""
    op.create_table(
        "archives",
        sa.Column("id", KEY, nullable=False),
        sa.Column("archive_id", sa.BigInteger(), nullable=True),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("journal_id", sa.String(length=32), nullable=True),
        sa.Column("journal_position", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_archives")),
        sa.UniqueConstraint("place", name=op.f("uq_archives_place")),
    )
    op.create_table(
        "pipeline_runs",
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("finished_ms", sa.BigInteger(), nullable=True),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("rejected", sa.BigInteger(), nullable=False),
        sa.Column("report", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_pipeline_runs")),
    )
    op.create_index(
        op.f("ix_pipeline_runs_job_started_ms"),
        "pipeline_runs",
        ["job", "started_ms"],
        unique=False,
    )
    op.create_table(
        "streams",
        sa.Column("id", KEY, nullable=False),
        sa.Column("archive_fk", KEY, nullable=False),
        sa.Column("stream_id", sa.Integer(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["archive_fk"], ["archives.id"], name=op.f("fk_streams_archive_fk")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_streams")),
        sa.UniqueConstraint(
            "archive_fk",
            "stream_id",
            "channel",
            name=op.f("uq_streams_archive_fk_stream_id_channel"),
        ),
    )
    op.create_table(
        "recordings",
        sa.Column("id", KEY, nullable=False),
        sa.Column("archive_fk", KEY, nullable=False),
        sa.Column("recording_id", sa.BigInteger(), nullable=False),
        sa.Column("stream_fk", KEY, nullable=False),
        sa.Column("session_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("start_position", sa.BigInteger(), nullable=False),
        sa.Column("stop_position", sa.BigInteger(), nullable=True),
        sa.Column("start_time_ms", sa.BigInteger(), nullable=False),
        sa.Column("stop_time_ms", sa.BigInteger(), nullable=True),
        sa.Column("initial_term_id", sa.Integer(), nullable=False),
        sa.Column("segment_length", sa.Integer(), nullable=False),
        sa.Column("term_length", sa.Integer(), nullable=False),
        sa.Column("mtu_length", sa.Integer(), nullable=False),
        sa.Column("stripped_channel", sa.Text(), nullable=False),
        sa.Column("original_channel", sa.Text(), nullable=False),
        sa.Column("source_identity", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "state IN ('active', 'stopped', 'invalid', 'deleted', 'purged')",
            name=op.f("ck_recordings_state"),
        ),
        sa.ForeignKeyConstraint(
            ["archive_fk"], ["archives.id"], name=op.f("fk_recordings_archive_fk")
        ),
        sa.ForeignKeyConstraint(
            ["stream_fk"], ["streams.id"], name=op.f("fk_recordings_stream_fk")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recordings")),
        sa.UniqueConstraint(
            "archive_fk", "recording_id", name=op.f("uq_recordings_archive_fk_recording_id")
        ),
    )
    op.create_index(
        op.f("ix_recordings_recording_id"), "recordings", ["recording_id"], unique=False
    )
    op.create_index(op.f("ix_recordings_size_bytes"), "recordings", ["size_bytes"], unique=False)
    op.create_index(
        op.f("ix_recordings_start_time_ms"), "recordings", ["start_time_ms"], unique=False
    )
    op.create_index(
        op.f("ix_recordings_state_start_time_ms"),
        "recordings",
        ["state", "start_time_ms"],
        unique=False,
    )
    op.create_index(
        op.f("ix_recordings_stop_time_ms"), "recordings", ["stop_time_ms"], unique=False
    )
    op.create_index(
        op.f("ix_recordings_stream_fk_start_time_ms"),
        "recordings",
        ["stream_fk", "start_time_ms"],
        unique=False,
    )
    op.create_index(
        op.f("ix_recordings_span_class"),
        "recordings",
        [sa.text(SPAN_CLASS), "start_time_ms"],
        unique=False,
    )
    op.create_table(
        "exports",
        sa.Column("id", KEY, nullable=False),
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("from_position", sa.BigInteger(), nullable=False),
        sa.Column("until_position", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("checksum", sa.String(length=64), nullable=True),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("time_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_exports_recording_fk")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exports")),
        sa.UniqueConstraint("recording_fk", "target", name=op.f("uq_exports_recording_fk_target")),
    )
    op.create_table(
        "lineage",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("from_position", sa.BigInteger(), nullable=False),
        sa.Column("source_archive", sa.Text(), nullable=True),
        sa.Column("source_channel", sa.Text(), nullable=True),
        sa.Column("source_recording_id", sa.BigInteger(), nullable=True),
        sa.Column("time_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_lineage_recording_fk")
        ),
        sa.PrimaryKeyConstraint("recording_fk", "kind", "from_position", name=op.f("pk_lineage")),
    )
    op.create_table(
        "marks",
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("time_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_marks_recording_fk")
        ),
        sa.PrimaryKeyConstraint("job", "recording_fk", "output", name=op.f("pk_marks")),
    )
    op.create_index(op.f("ix_marks_recording_fk"), "marks", ["recording_fk"], unique=False)
    op.create_table(
        "names",
        sa.Column("archive_fk", KEY, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("recording_fk", KEY, nullable=False),
        sa.ForeignKeyConstraint(["archive_fk"], ["archives.id"], name=op.f("fk_names_archive_fk")),
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_names_recording_fk")
        ),
        sa.PrimaryKeyConstraint("archive_fk", "name", name=op.f("pk_names")),
    )
    op.create_index(op.f("ix_names_name"), "names", ["name"], unique=False)
    op.create_index(op.f("ix_names_recording_fk"), "names", ["recording_fk"], unique=False)
    op.create_table(
        "segments",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("base_position", sa.BigInteger(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("fingerprint", sa.String(length=16), nullable=True),
        sa.Column("place", sa.Text(), nullable=True),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.CheckConstraint(
            "state IN ('present', 'missing', 'detached')", name=op.f("ck_segments_state")
        ),
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_segments_recording_fk")
        ),
        sa.PrimaryKeyConstraint("recording_fk", "base_position", name=op.f("pk_segments")),
    )
    op.create_table(
        "tags",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_tags_recording_fk")
        ),
        sa.PrimaryKeyConstraint("recording_fk", "key", name=op.f("pk_tags")),
    )
    op.create_index(
        op.f("ix_tags_key_value_recording_fk"),
        "tags",
        ["key", "value", "recording_fk"],
        unique=False,
    )
    op.create_table(
        "export_files",
        sa.Column("export_fk", KEY, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("from_position", sa.BigInteger(), nullable=False),
        sa.Column("until_position", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("checksum", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.ForeignKeyConstraint(
            ["export_fk"], ["exports.id"], name=op.f("fk_export_files_export_fk")
        ),
        sa.PrimaryKeyConstraint("export_fk", "path", name=op.f("pk_export_files")),
    )
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
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_time_index_files_recording_fk")
        ),
        sa.PrimaryKeyConstraint("recording_fk", name=op.f("pk_time_index_files")),
    )
    op.create_table(
        "time_index",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("time_ns", sa.BigInteger(), nullable=False),
        sa.Column("until_ns", sa.BigInteger(), nullable=True),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("until_position", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_time_index_recording_fk")
        ),
        sa.PrimaryKeyConstraint("recording_fk", "time_ns", name=op.f("pk_time_index")),
    )
    op.create_table(
        "holds",
        sa.Column("recording_fk", KEY, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=True),
        sa.Column("since_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["recording_fk"], ["recordings.id"], name=op.f("fk_holds_recording_fk")
        ),
        sa.PrimaryKeyConstraint("recording_fk", "reason", name=op.f("pk_holds")),
    )


def downgrade() -> None:
    """Drop the tables."""
    for name in (
        "holds",
        "time_index",
        "time_index_files",
        "export_files",
        "tags",
        "segments",
        "names",
        "marks",
        "lineage",
        "exports",
        "recordings",
        "streams",
        "pipeline_runs",
        "archives",
    ):
        op.drop_table(name)
