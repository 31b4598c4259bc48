"""``aerolog archive-tool``: the reference's ArchiveTool.

``commands`` is the table of all commands, ``archive_tool`` reads the arguments and runs one.
"""
