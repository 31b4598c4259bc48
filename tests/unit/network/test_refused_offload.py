"""A path whose datagrams are smaller than the segments: the kernel refuses to cut runs for it."""

import subprocess
import sys

from prerequisites import NETWORK_NAMESPACE, needs_network_namespace

PROGRAM = """
import time
from aerolog.transport.network.sockets import open_receive_port, open_send_port

with (
    open_receive_port(("127.0.0.1", 0), so_rcvbuf=1 << 20) as receiver,
    open_send_port(receiver.local_address, ("0.0.0.0", 0)) as sender,
):
    run = bytes(i % 251 for i in range(10 * 1408 + 99))
    before = sender.segmentation
    assert sender.send_datagrams([run, b"after"], segment=1408) == 2
    found = []
    deadline = time.monotonic() + 30
    while len(found) < 12 and time.monotonic() < deadline:
        found += [data for data, _, _ in receiver.receive_datagrams()]
    assert found == [run[i : i + 1408] for i in range(0, len(run), 1408)] + [b"after"]
    print(before, sender.segmentation)
"""


@needs_network_namespace
def test_a_run_arrives_whole_and_the_offload_stays_off():
    command = f'ip link set lo mtu 1400 up && exec "{sys.executable}" -c "$0"'
    done = subprocess.run(
        [*NETWORK_NAMESPACE, "sh", "-c", command, PROGRAM],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1] == "False"
