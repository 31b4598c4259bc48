"""Reads the newest recording of an archive's folder into pandas; no archive need be running."""

import sys

import pandas as pd

from aerolog.catalog import open_recording
from aerolog.catalog.decoders import decoded_batches, make_decoder

folder, recording_id = sys.argv[1], int(sys.argv[2])
decoder = make_decoder("json", {"schema": "id int64, symbol string, price double"})
with open_recording(folder, recording_id) as recording:
    tables = [rows.to_pandas() for rows, _ in decoded_batches(recording.to_batches(), decoder)]
trades = pd.concat(tables)
print(trades.groupby("symbol")["price"].agg(["count", "mean"]).round(1))
