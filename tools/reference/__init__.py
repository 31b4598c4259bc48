"""The tools of the reference: the same arguments, lines, prompts and exit codes."""
