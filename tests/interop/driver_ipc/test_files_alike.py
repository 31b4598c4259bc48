"""What both drivers leave in shared memory for the same commands, byte by byte."""

import subprocess
import sys
from pathlib import Path

import peer
import pytest

from aerolog.transport.logbuffer.descriptor import LOG_META_LENGTH
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.protocol import commands as c

pytestmark = pytest.mark.interop

CHANNELS = [
    "aeron:ipc?session-id=77|term-length=64k|init-term-id=5|term-id=5|term-offset=0",
    (
        "aeron:ipc?session-id=78|term-length=128k|init-term-id=-5|term-id=2|term-offset=96|mtu=2048"
        "|pub-wnd=16k|linger=3s|eos=false|sparse=false|max-resend=3|tags=1,99|ssc=true"
        "|untethered-window-limit-timeout=7s|untethered-resting-timeout=9s"
    ),
    (
        "aeron:ipc?session-id=79|init-term-id=2147483647|term-id=-2147483648|term-offset=65536"
        "|control-mode=response|response-correlation-id=prototype|untethered-linger-timeout=8s"
    ),
]
VERSIONED_LABELS = {15, 34}


def metadata_sections(server, raw_client):
    client = raw_client(server.aeron_dir)
    sections = []
    for channel in CHANNELS:
        for make in (c.AddPublication, c.AddExclusivePublication):
            ready = client.do(lambda i, n, m=make, ch=channel: m(i, n, 1000 + len(sections), ch))
            if getattr(ready[-1], "log_file", None) is None:
                sections.append(repr(ready[-1]))  # a tag is in use: both say so
                continue
            log = MappedFile.open(ready[-1].log_file)
            sections.append((log.length, bytes(log.view(log.length - LOG_META_LENGTH)).hex()))
    return sections, client


def test_logs_are_made_alike(both_drivers, raw_client):
    ours, reference = (metadata_sections(s, raw_client)[0] for s in both_drivers({}))
    for mine, theirs in zip(ours, reference, strict=True):
        assert mine == theirs


def test_counters_are_laid_out_alike(both_drivers, raw_client):
    found = []
    for server in both_drivers({}):
        _, client = metadata_sections(server, raw_client)
        for stream_id in (1000, 1002, 1004):
            client.do(lambda i, n, s=stream_id: c.AddSubscription(i, n, s, "aeron:ipc?alias=all"))
        found.append(
            [
                (
                    k.counter_id,
                    k.type_id,
                    k.label.split(" commit=")[0] if k.counter_id in VERSIONED_LABELS else k.label,
                    k.key.hex(),
                    k.registration_id,
                    k.owner_id,
                    k.reference_id,
                )
                for k in client.cnc.counters
            ]
        )
    assert found[0] == found[1]


def test_control_files_have_the_same_header_and_length(both_drivers, raw_client):
    headers, lengths = [], []
    for server in both_drivers({"aeron.client.liveness.timeout": "7s"}):
        cnc = raw_client(server.aeron_dir).cnc
        header = bytearray(cnc.mapped.view(0, 128))
        assert cnc.header.pid == server.pid
        header[32:48] = bytes(16)  # start time and pid
        headers.append(header.hex())
        folder = Path(server.aeron_dir)
        lengths.append({p.name: p.stat().st_size for p in folder.iterdir() if p.is_file()})
    # What we add has a name of its own, which the reference passes over.
    assert lengths[0].pop("aerolog-cycles.dat") > 0
    assert headers[0] == headers[1]
    assert lengths[0] == lengths[1]


def test_neither_driver_starts_on_the_others_live_directory(start_server):
    reference, ours = (start_server(kind, "driver") for kind in ("reference", "ours"))
    refused = subprocess.run(
        [sys.executable, "-m", "aerolog.transport.driver", f"-Daeron.dir={reference.aeron_dir}"],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert refused.returncode == 1
    assert "Active media driver detected" in refused.stderr
    output = peer.java_tool(
        "io.aeron.driver.MediaDriver", properties={"aeron.dir": ours.aeron_dir}, check=False
    )
    assert "Active media driver detected" in output


def test_our_driver_takes_the_directory_of_a_killed_one_over_at_once(
    start_server, java_client, aeron_dir, stream_id
):
    killed = start_server("reference", "driver", aeron_dir=aeron_dir)
    killed.process.kill()
    client = java_client(start_server("ours", "driver", aeron_dir=aeron_dir).aeron_dir)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    client.add_publication("aeron:ipc", stream_id).offer(b"here")
    assert [m["data"] for m in subscription.poll(1)] == [b"here"]


def test_the_reference_takes_the_directory_of_our_stopped_one_over(
    start_server, java_client, aeron_dir, stream_id
):
    stopped = start_server("ours", "driver", aeron_dir=aeron_dir)
    assert stopped.process.stop() == 0
    client = java_client(start_server("reference", "driver", aeron_dir=aeron_dir).aeron_dir)
    subscription = client.add_subscription("aeron:ipc", stream_id)
    client.add_publication("aeron:ipc", stream_id).offer(b"here")
    assert [m["data"] for m in subscription.poll(1)] == [b"here"]
