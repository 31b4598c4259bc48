"""A simulation asks the machine for nothing: time, threads, sockets, files, chance.

One question is left: whether the process lives whose directory or folder is taken over. Here that
is always the simulation's own, so the answer is always the same.
"""

import os
import subprocess
import sys

import pytest

from aerolog.testing.scenarios import Kind

# Everything is imported by a first run; the doors are shut for the second.
PROGRAM = """
import os, random, secrets, socket, sys, threading, time, uuid
from aerolog.testing.archive_scenario_run import run_scenario
from aerolog.testing.scenarios import make_scenario

kind, seed = sys.argv[1], int(sys.argv[2])
first = run_scenario(make_scenario(kind, seed)).fingerprint
opened, shut = [], False

def watch(event, args):
    if shut and event.split(".")[0] in {"open", "socket", "time", "subprocess", "shutil"}:
        opened.append((event, str(args)[:100]))

def refuse(name):
    def refused(*args, **kwargs):
        opened.append((name, str(args)[:100]))
        raise AssertionError(name)
    return refused

sys.addaudithook(watch)
for module, names in (
    (time, ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep")),
    (os, ("urandom",)),
    (secrets, ("randbits", "randbelow", "token_bytes")),
    (uuid, ("uuid4",)),
    (socket, ("getaddrinfo", "gethostname", "socket")),
    (threading.Thread, ("start",)),
    (random.SystemRandom, ("random", "getrandbits")),
):
    for name in names:
        setattr(module, name, refuse(f"{module.__name__}.{name}"))
shut = True
second = run_scenario(make_scenario(kind, seed)).fingerprint
shut = False
print(opened, first == second)
"""


@pytest.mark.parametrize("seed", [2, 5])
@pytest.mark.parametrize("kind", Kind)
def test_the_doors_to_the_machine_stay_shut(kind, seed):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind.value, str(seed)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "AERON_MTU_LENGTH": "4096"},
    )
    assert done.stdout == "[] True\n", done.stdout + done.stderr
