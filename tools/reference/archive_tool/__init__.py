"""``aerolog archive-tool``: the reference's ArchiveTool.

``archive_tool_table`` has its commands; ``archive_tool`` reads the arguments and runs one.
"""
