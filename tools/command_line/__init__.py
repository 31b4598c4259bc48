"""The command line: the table of commands, help, shared options, exit codes, and how a run ends."""
