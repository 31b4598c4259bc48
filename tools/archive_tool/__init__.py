"""``aerolog archive-tool``: what an archive's folder holds, and putting it right, offline.

``commands`` is the table of all commands; ``classic`` runs them with the output, prompts and exit
codes of the reference's ArchiveTool, ``running`` with tables or JSON.
"""
