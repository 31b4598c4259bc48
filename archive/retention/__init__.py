"""Retention, which deletes old data by policy and never what is still needed.

`plan` is a pure function of facts and policies. A plan is applied by requests to a running archive,
or to the files of a stopped one, with a journal and by one run at a time.
docs/archive/retention.md describes it as a whole.
"""
