"""Records the bytes that the layouts of aerolog are held against, from the running reference.

Usage: reference_layouts.py [FILE]; without it tests/golden/data/reference-layouts.json is written.
The reference's encoders make one message of each kind, its driver a log and a cnc.dat, and its
flyweights and classes of files what written_layouts.py asks for. A second run makes the same file,
but for the driver's start and process id in the header of cnc.dat and the sizes of the machine's
socket buffers in the log.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "interop"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from golden_data import as_file
from peer.raw_client import RawClient
from peer.servers import ServerSpec, start_java
from peer.tools import java_tool
from reference_encoders import as_reference_encodes, one_of_each
from shared_memory import memory_path
from written_layouts import written_by_the_reference

from aerolog.transport.protocol import commands

RECORDED = Path(__file__).resolve().parents[1] / "tests/golden/data/reference-layouts.json"
# None is the default. A ring's and a broadcast's length are with their trailers.
DRIVER = {
    "aeron.conductor.buffer.length": str((2 << 20) + 768),
    "aeron.clients.buffer.length": str((4 << 20) + 128),
    "aeron.counters.buffer.length": "2m",
    "aeron.error.buffer.length": "5m",
    "aeron.client.liveness.timeout": "12s",
}
CHANNEL = (
    "aeron:ipc?session-id=78|term-length=128k|init-term-id=-5|term-id=2|term-offset=96|mtu=2048"
    "|pub-wnd=16k|linger=3s|eos=false|sparse=true|max-resend=3|tags=1,99|ssc=true"
    "|untethered-window-limit-timeout=7s|untethered-resting-timeout=9s"
    "|untethered-linger-timeout=8s"
)
STREAM_ID = 1001
METADATA_LENGTH, METADATA_USED = 4096, 512
CNC_HEADER_LENGTH = 128


def recorded() -> dict[str, Any]:
    """The content of the file."""
    messages = one_of_each()
    encoded = as_reference_encodes(list(messages), list(messages.values()))
    log_metadata, cnc_header = made_by_a_driver()
    with tempfile.TemporaryDirectory() as folder:
        written = written_by_the_reference(java_tool, Path(folder))
    return {
        "messages": {name: data.hex() for name, data in zip(messages, encoded, strict=True)},
        "log_metadata": log_metadata.hex(),
        "cnc_header": cnc_header.hex(),
        "written": written,
    }


def made_by_a_driver() -> tuple[bytes, bytes]:
    """The metadata of a log, and the header of cnc.dat."""
    aeron_dir = memory_path()
    server = start_java(ServerSpec("driver", aeron_dir, properties=DRIVER))
    try:
        client = RawClient(server.aeron_dir)
        ready = client.do(lambda i, n: commands.AddExclusivePublication(i, n, STREAM_ID, CHANNEL))[
            -1
        ]
        log = Path(ready.log_file).read_bytes()
        section = log[-METADATA_LENGTH:]
        assert not section[METADATA_USED:].strip(b"\0")
        return section[:METADATA_USED], (aeron_dir / "cnc.dat").read_bytes()[:CNC_HEADER_LENGTH]
    finally:
        server.process.stop()
        shutil.rmtree(aeron_dir, ignore_errors=True)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED
    target.write_text(as_file(recorded()), encoding="utf-8")
