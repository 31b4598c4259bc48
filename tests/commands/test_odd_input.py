"""Odd arguments, schemas, jobs, policies and password files: each is refused with a reason."""

from __future__ import annotations

import base64
import random
import re
from typing import TYPE_CHECKING

import pytest
from fuzzed_commands import check_end, garbled, said
from payload_decoders import OPTIONS
from pipelines_here import JOB

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 20
WORDS = (
    "\udcff", "a\udcffb", "\x1b[31m", "", "\n", "x" * 5000, "9" * 5000, "0" * 5000, "-1", "nan",
    "\u0663", "\u202e", "\u00b2", "1_000", "0x10", "+5", "1.5e300", "[", "%n", "*",
)  # fmt: skip
#: Commands with a word; {} is the word, @ the archive's folder, / an empty one.
WITH_WORD = """
recordings describe {} --archive-dir @
recordings list --archive-dir {}
recordings list --channel {} --archive-dir @
recordings list --stream {} --archive-dir @
recordings list --from {} --archive-dir @
catalog search --stream {} --archive-dir @
catalog search --name {} --archive-dir @
catalog search --channel {} --archive-dir @
catalog search --tag {} --archive-dir @
catalog search --since {} --archive-dir @
catalog search --min-size {} --archive-dir @
catalog search --state {} --archive-dir @
catalog search --archive {} --archive-dir @
catalog search --id {} --archive-dir @
catalog search --limit {} --archive-dir @
catalog search --offset {} --archive-dir @
catalog search --archive-dir {}
catalog search --catalog {}
catalog search --catalog sqlite:///missing/{}
catalog sql {} --archive-dir @
catalog sql SELECT\u00a0{} --archive-dir @
catalog show {} --archive-dir @
catalog tag 0 --set k={} --archive-dir @
catalog tag 0 --set {}=v --archive-dir @
catalog tag 0 --name {} --archive-dir @
export {} --to / --archive-dir @
export --all --to /dev/null/{} --archive-dir @
export --all --to / --archive-dir @ --partition-by {}
export --all --to / --archive-dir @ --file-size {}
export --all --to / --archive-dir @ --time-source {}
export --all --to / --archive-dir @ --decoder {}
export --all --to / --archive-dir @ --decoder json --decoder-option schema={}
export --search name={} --to / --archive-dir @
explain {}
errors --since {} --archive-dir @
errors --file {}
retention plan --channel {} --archive-dir @
retention plan --stream {} --archive-dir @
retention plan --label {} --archive-dir @
retention plan --max-age {} --archive-dir @
retention plan --everything --max-age {}s --archive-dir @
retention plan --max-size {} --archive-dir @
retention plan --max-count {} --archive-dir @
retention plan --free-low {} --archive-dir @
retention plan --policies {} --archive-dir @
retention hold 0 --reason {} --archive-dir @
retention hold {} --reason x --archive-dir @
verify {} --archive-dir @
verify --checksum {} --archive-dir @
archive-tool @ {}
archive-tool @ describe {}
archive-tool @ verify {}
archive-tool @ dump {}
archive-tool @ checksum {}
archive-tool @ mark-valid {}
archive-tool {} describe
archive-tool --json @ describe {}
archive-tool --json @ dump {}
recordings checksum {} --archive-dir @
recordings mark-valid {} --archive-dir @
recordings capacity {} --archive-dir @
stat --aeron-dir {}
loss --aeron-dir {}
passwords key {}
passwords list {}
pipeline run {}
pipeline status {}
wireshark {}
man {}
{}
""".strip().splitlines()
POLICIES = b"""
[[policy]]
name = "orders"
channel = "aeron:udp*orders*"
stream = [1001, "2000-2999"]
label = { tier = "hot" }
max_age = "7d"

[[policy]]
name = "disk"
everything = true
free_low = "10%"
free_high = "20%"
min_age = "1h"
"""


@pytest.mark.parametrize("command", WITH_WORD)
def test_words(archive: Path, tmp_path: Path, monkeypatch, command: str) -> None:
    # What a word names is made here.
    monkeypatch.chdir(tmp_path)
    rng = random.Random(command)
    for word in rng.sample(WORDS, 4):
        words = [
            {"@": str(archive), "/": str(tmp_path / "out")}.get(part, part).replace("{}", word)
            for part in command.split(" ")
        ]
        check_end(*said(*words), words)


def test_a_hold_s_reason_of_any_characters_is_synced(archive: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'catalog.db'}"
    held = said("retention", "hold", "3", "--reason", "half\ud800", "--archive-dir", archive)
    code, error = said("catalog", "sync", "--archive-dir", archive, "--catalog", url)
    assert (held[0], code) == (0, 0), error


@pytest.mark.parametrize("name", [name for name, options in OPTIONS.items() if options])
def test_schemas(archive: Path, tmp_path: Path, name: str) -> None:
    in_file = {
        "schema": "schema_file", "schema_ipc": "schema_file", "descriptor_set": "descriptor_file",
    }  # fmt: skip
    rng = random.Random(name)
    for number in range(ROUNDS):
        options: list[str] = []
        for key, value in OPTIONS[name].items():
            is_text = key in {"schema", "message"}
            content = garbled(rng, value.encode() if is_text else base64.b64decode(value))
            if key in in_file and rng.randrange(2):
                (tmp_path / "schema").write_bytes(content)
                options.append(f"{in_file[key]}={tmp_path / 'schema'}")
            else:
                coded = content if is_text else base64.b64encode(content)
                options.append(f"{key}={coded.decode('utf-8', 'surrogateescape')}")
        given = [word for option in options for word in ("--decoder-option", option)]
        to = tmp_path / str(number)
        ended = said("export", "1", "--archive-dir", archive, "--to", to, "--decoder", name, *given)
        check_end(*ended, options)


def test_jobs(archive: Path, tmp_path: Path) -> None:
    rng = random.Random("jobs")
    job = JOB.format(to="out", output="").encode()
    file = tmp_path / "job.toml"
    for command in (("run", file, "--dry-run"), ("status", file)):
        for _ in range(ROUNDS):
            file.write_bytes(garbled(rng, job))
            check_end(*said("pipeline", *command, "--archive-dir", archive), file.read_bytes())


def test_policies(archive: Path, tmp_path: Path) -> None:
    rng = random.Random("policies")
    file = tmp_path / "policies.toml"
    for _ in range(2 * ROUNDS):
        file.write_bytes(garbled(rng, POLICIES))
        ended = said("retention", "plan", "--policies", file, "--archive-dir", archive)
        check_end(*ended, file.read_bytes())


def test_password_files(tmp_path: Path) -> None:
    rng = random.Random("passwords")
    file = tmp_path / "users.txt"
    users = b"ann:$scrypt$ln=14,r=8,p=1$c2FsdHNhbHRzYWx0c2FsdA$" + b"aGFzaGhhc2hoYXNoaGFzaGhhc2g\n"
    for _ in range(ROUNDS):
        file.write_bytes(garbled(rng, users))
        check_end(*said("passwords", "list", file), file.read_bytes())
        check_end(*said("passwords", "remove", file, "ann"), file.read_bytes())
    file.write_bytes(b"ann:\xff\n")
    code, error = said("passwords", "list", file)
    assert (code, bool(re.search(r"users\.txt: is not UTF-8", error))) == (1, True)
