"""``aerolog archive-tool``: what an archive's folder holds, and putting it right, offline.

``actions`` is the table of all commands; ``classic_tool`` runs them with the output, prompts and
exit codes of the reference's ArchiveTool, ``table_tool`` with tables or JSON.
"""
