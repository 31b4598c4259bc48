"""The reference implementation as a peer in tests: Java servers, a Java client, the Java tools.

`artifact` finds Java and the jar and compiles our small peer programs, `process` starts and ends
processes, `servers` are drivers and archives (theirs and ours), `client` is one JVM that serves
client operations over a line protocol, `tools` runs AeronStat, ErrorStat and ArchiveTool once.
"""

from peer.artifact import PeerUnavailable, Toolchain, toolchain
from peer.c_build import CratesUnavailable, c_programs
from peer.client import CPeer, JavaAeron, JavaArchive, JavaError, JavaObject, JavaPeer
from peer.process import ServerProcess, recent_logs
from peer.servers import ServerSpec, start_java, start_ours
from peer.tools import aeron_stat, archive_tool, java_tool

__all__ = [
    "CPeer",
    "CratesUnavailable",
    "JavaAeron",
    "JavaArchive",
    "JavaError",
    "JavaObject",
    "JavaPeer",
    "PeerUnavailable",
    "ServerProcess",
    "ServerSpec",
    "Toolchain",
    "aeron_stat",
    "archive_tool",
    "c_programs",
    "java_tool",
    "recent_logs",
    "start_java",
    "start_ours",
    "toolchain",
]
