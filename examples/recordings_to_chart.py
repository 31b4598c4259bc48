"""From "which recordings do I have" to a plotted chart, cell by cell.

    python -m examples.recordings_to_chart [ARCHIVE_DIR [OUT_DIR]]

The cells are those of docs/guide/from-recordings-to-a-chart.md. An archive's folder that does not
exist is made first, with a small archive of invented flights.
"""

# %% What a notebook begins with
import sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
from examples.invented_flights import make_archive
from matplotlib.figure import Figure

from aerolog.catalog import open_recording
from aerolog.catalog.decoders import DecodeTotals, decoded_batches, make_decoder, sampled_decoder
from aerolog.catalog.index import RecordingCatalog, sync_folder
from aerolog.catalog.index.labels import label
from aerolog.catalog.index.search import Search, search

ARCHIVE = Path(sys.argv[1] if len(sys.argv) > 1 else "archive")
OUT = Path(sys.argv[2] if len(sys.argv) > 2 else ".")
OUT.mkdir(parents=True, exist_ok=True)
if not ARCHIVE.exists():
    make_archive(ARCHIVE)

# %% Which recordings do I have?
catalog = RecordingCatalog.open(archive_dir=ARCHIVE)
report = sync_folder(catalog, ARCHIVE)
for one in search(catalog, Search(order="id")):
    print(one.recording_id, one.stream_id, one.channel, one.state, one.size_bytes, "bytes")

# %% The ones to look at get a tag, and are found by it from now on
flights_streams = search(catalog, Search(stream_id=2013, order="id"))
label(catalog, ARCHIVE, [one.recording_id for one in flights_streams], tags={"about": "flights"})
found = search(catalog, Search(tags={"about": "flights"}, order="id"))
print("tagged:", [one.recording_id for one in found])
catalog.close()

# %% What is in them? The first messages of one show the schema, which then holds for all
with open_recording(ARCHIVE, found[0].recording_id) as recording:
    decoder = sampled_decoder(make_decoder("json", {"sample": "100"}), recording.to_batches())
print("schema:", decoder.options["schema"])

# %% Decode: rows, and beside them the messages that are no such row, with position and reason
totals = DecodeTotals()
rows, rejects = [], []
for one in found:
    with open_recording(ARCHIVE, one.recording_id) as recording:
        for decoded, rejected in decoded_batches(recording.to_batches(), decoder, totals=totals):
            rows.append(decoded)
            rejects.append(rejected)
flights = pa.Table.from_batches(rows)
print(totals.messages, "messages,", totals.rows, "rows,", totals.rejects, "rejects")
for reject in pa.Table.from_batches(rejects).to_pylist():
    print("recording", reject["recording_id"], "at", reject["position"], reject["reason"])

# %% Ask in SQL: DuckDB reads the Arrow table where it is
worst = duckdb.sql("""
    SELECT carrier, count(*) AS flights, round(avg(dep_delay), 1) AS average_delay
    FROM flights WHERE dep_delay IS NOT NULL
    GROUP BY carrier ORDER BY average_delay DESC, carrier
""").pl()
print(worst)

# %% Or with Polars, over the same memory
frame = pl.from_arrow(flights)
assert isinstance(frame, pl.DataFrame)
by_hour = (
    frame.drop_nulls("dep_delay")
    .group_by("origin", "hour")
    .agg(pl.col("dep_delay").mean())
    .sort("origin", "hour")
)

# %% The chart
figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
left.bar(worst["carrier"], worst["average_delay"], color="#4c72b0")
left.set(title="Average departure delay", xlabel="carrier", ylabel="minutes")
for (origin,), part in by_hour.group_by("origin", maintain_order=True):
    right.plot(part["hour"], part["dep_delay"], marker="o", label=origin)
right.set(title="Over the day", xlabel="hour", ylabel="minutes")
right.legend(title="origin")
for name in ("delays.svg", "delays.png"):
    figure.savefig(OUT / name, metadata={"Date": None} if name.endswith("svg") else None)
print("wrote", OUT / "delays.svg", "and", OUT / "delays.png")
