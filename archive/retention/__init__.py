"""Retention: letting old data go by policy, and never what somebody still needs.

`plan` is a pure function of facts and policies; a plan is applied by requests to the archive, or to
the files of one that does not run, with a journal and one run at a time. docs/archive/retention.md
tells the whole.
"""
