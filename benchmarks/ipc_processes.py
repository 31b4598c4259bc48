"""A publishing and a subscribing Python process through a driver."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

from aerolog.transport.driver import MediaDriver
from benchmarks.folders import temporary_folder
from benchmarks.ipc_threads import c_ipc_throughput, java_ipc_throughput
from benchmarks.native_loops import CHECKOUT
from benchmarks.result import BenchmarkFailedError, Result

TIMEOUT_S = 90


def _measure(publisher: str, subscriber: str, place: str) -> float:
    """Messages a second, as the subscribing process counts and checks them."""
    command = [sys.executable, "-m", "benchmarks.roles"]
    receiving = subprocess.Popen(
        [*command, subscriber, place], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    )
    sending = subprocess.Popen([*command, publisher, place], cwd=CHECKOUT, stdin=subprocess.PIPE)
    try:
        out, _ = receiving.communicate(timeout=TIMEOUT_S)
        if receiving.returncode:
            raise BenchmarkFailedError(f"{subscriber} ended with {receiving.returncode}")
        return float(json.loads(out)["rate"])
    except subprocess.TimeoutExpired:
        raise BenchmarkFailedError(f"{subscriber} got no messages") from None
    finally:
        receiving.kill()
        receiving.wait()
        sending.communicate(timeout=TIMEOUT_S)


def ipc_offer() -> list[Result]:
    """One Python call a message; the peer is pyzmq over its ipc transport, likewise."""
    with MediaDriver.embedded(threading_mode="SHARED") as driver:
        ours = _measure("offer", "poll", driver.aeron_dir)
    peer, peer_name = None, "pyzmq over ipc"
    if importlib.util.find_spec("zmq") is None:
        peer_name += ": not installed"
    else:
        with temporary_folder() as folder:
            peer = _measure("zmq-push", "zmq-pull", f"ipc://{folder}/socket")
    return [Result("ipc-32-offer", "messages/s", ours, peer, peer_name)]


def ipc_batch() -> list[Result]:
    """NumPy batches; the peer is the reference's native-speed sample."""
    if importlib.util.find_spec("numpy") is None:
        raise BenchmarkFailedError("ipc-32-batch needs NumPy: pip install 'aerolog[arrow]'")
    with MediaDriver.embedded(threading_mode="SHARED") as driver:
        ours = _measure("offer-batch", "poll-batch", driver.aeron_dir)
    java, c = java_ipc_throughput(32), c_ipc_throughput(32)
    return [Result("ipc-32-batch", "messages/s", ours, java.figure, java.name, more=(c,))]
