"""Event logging: what a driver or an archive does, line by line, as the reference's agent has it.

Parts write binary records to one native ring of the process (`log`), a thread reads them and
writes lines (`reader`). What is not switched on costs nothing: nobody holds a log then.
"""
