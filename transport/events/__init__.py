"""Event logging: a driver or archive writes lines about its work, as the reference's agent does.

Components write binary records to one native ring of the process (`event_log`); a thread reads them
and writes lines (`event_reader`). If no event is enabled, no log exists and logging costs nothing.
"""
