"""Mark files: the reference and we store the same bytes, read each other's, and respect owners."""

from __future__ import annotations

from pathlib import Path

import peer
import pytest
from mark_headers import cluster_header

from aerolog.cluster.errors import ActiveClusterError
from aerolog.cluster.files import CLUSTER_MARK_NAME, ClusterMarkFile, service_mark_name
from aerolog.cluster.protocol import ClusterComponentType, MarkFileHeader
from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.errors import FileFormatError

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("reference")]

PID = slice(32, 40)
LIVES = {
    "claimed": "clock 2000000\nclaim {}\n",
    "ready": "clock 2000000\nclaim {}\nclock 2000500\nready\n",
    "alive": "clock 2000000\nclaim {}\nready\nclock 2001500\nbeat\n",
    "ended": "clock 2000000\nclaim {}\nready\nterminated\n",
    "not started": "clock 2000000\nclaim {}\nfailed\n",
    "after another": (
        "clock 2000000\nclaim {0}\nready\nterminated\nclock 3000000\nclaim {0}\nready\n"
    ),
    "after a crash": (
        "clock 2000000\nclaim {0}\nready\nclock 2010000\nclaim {0}\nclock 2010001\nready\n"
    ),
    "after a failed start": "clock 2000000\nclaim {0}\nfailed\nclaim {0}\nclock 2000001\nready\n",
}


def header(kind: str, now_ms: int) -> MarkFileHeader:
    return cluster_header(
        component_type=ClusterComponentType[kind],
        start_timestamp=now_ms,
        pid=77,
        member_id=2,
        cluster_id=3,
        aeron_directory="/dev/shm/aeron",
        control_channel="aeron:ipc?term-length=128k",
        ingress_channel="aeron:udp?endpoint=localhost:9020",
        authenticator="io.aeron.security.DefaultAuthenticatorSupplier",
        services_cluster_dir="/tmp/cluster",
    )


def with_ours(folder: Path, name: str, steps: str) -> ClusterMarkFile:
    clock = ManualClock(epoch_ms=0)
    mark = None
    for line in steps.splitlines():
        step, _, value = line.partition(" ")
        if step == "clock":
            clock.advance_ns(int(value) * 1_000_000 - clock.now_epoch_ms() * 1_000_000)
        elif step == "claim":
            mark = None  # its mapping goes, as at the end of a process
            given = header(value, clock.now_epoch_ms())
            mark = ClusterMarkFile.claim(folder, given, name=name, clock=clock)
        else:
            assert mark is not None
            steps_of = {
                "ready": mark.ready,
                "beat": mark.beat,
                "terminated": mark.terminated,
                "failed": mark.failed_start,
            }
            steps_of[step]()
    assert mark is not None
    return mark


def with_reference(folder: Path, name: str, steps: str) -> list[str]:
    return peer.java_tool("ClusterMarks", str(folder), name, stdin=steps).splitlines()


def as_reference_prints(mark: ClusterMarkFile) -> str:
    words = []
    for name in mark.header.LAYOUT.names:
        value = getattr(mark.header, name)
        if name == "reserved":
            continue
        first, *rest = name.split("_")
        shown = f"'{value}'" if isinstance(value, str) else getattr(value, "name", value)
        words.append(f"{first}{''.join(map(str.title, rest))}={shown}")
    return "|".join(words)


@pytest.mark.parametrize("life", LIVES.values(), ids=LIVES)
@pytest.mark.parametrize(
    ("kind", "name"),
    [("CONSENSUS_MODULE", CLUSTER_MARK_NAME), ("CONTAINER", service_mark_name(4))],
)
def test_both_store_the_same_bytes(tmp_path: Path, life: str, kind: str, name: str) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    mark = with_ours(ours, name, life.format(kind))
    with_reference(theirs, name, life.format(kind))
    one, other = ((folder / name).read_bytes() for folder in (ours, theirs))
    assert one[PID] == (77).to_bytes(8, "little")
    assert len(one) == len(other)
    assert one == other[: PID.start] + one[PID] + other[PID.stop :]
    del mark


@pytest.mark.parametrize("kind", ["CONSENSUS_MODULE", "BACKUP"])
def test_each_reads_what_the_other_wrote(tmp_path: Path, kind: str) -> None:
    steps = f"clock 2000000\nclaim {kind}\nready\n"
    with_ours(tmp_path, CLUSTER_MARK_NAME, steps).error_log().record("gone wrong")
    printed, rest, errors = with_reference(
        tmp_path, CLUSTER_MARK_NAME, "clock 2000001\nopen\nprint\nerrors\n"
    )
    mark = ClusterMarkFile.open(tmp_path)
    assert printed.partition(":")[2] == as_reference_prints(mark)
    assert rest == "2000000 -1"
    assert errors.endswith("gone wrong")
    (tmp_path / CLUSTER_MARK_NAME).unlink()
    with_reference(tmp_path, CLUSTER_MARK_NAME, f"{steps}error refused\n")
    mark = ClusterMarkFile.open(tmp_path, clock=ManualClock(epoch_ms=2_009_999))
    assert mark.is_active()
    assert mark.header == ClusterMarkFile.open(tmp_path).header
    assert mark.header.start_timestamp == mark.activity_timestamp == 2_000_000
    assert [error.text.splitlines()[0] for error in mark.errors()] == [
        "java.lang.IllegalStateException: refused"
    ]


def test_an_active_mark_file_is_refused_by_each(tmp_path: Path) -> None:
    steps = "clock 2000000\nclaim CONSENSUS_MODULE\nready\n"
    path = tmp_path / CLUSTER_MARK_NAME
    ours = with_ours(tmp_path, CLUSTER_MARK_NAME, steps)
    before = path.read_bytes()
    claim = "clock 2009999\nclaim CONSENSUS_MODULE\n"
    assert with_reference(tmp_path, CLUSTER_MARK_NAME, claim) == [
        f"java.lang.IllegalStateException: active mark file detected: {path}"
    ]
    with pytest.raises(ActiveClusterError, match="active mark file detected: .* of process 77"):
        ClusterMarkFile.claim(
            tmp_path, header("CONSENSUS_MODULE", 2_009_999), clock=ManualClock(epoch_ms=2_009_999)
        )
    assert path.read_bytes() == before
    ours.beat()
    # Ten seconds of silence, and it is anybody's.
    assert with_reference(tmp_path, CLUSTER_MARK_NAME, claim.replace("2009999", "2010000")) == []
    with pytest.raises(ActiveClusterError, match="has taken .* over from this cluster component"):
        ours.beat()


@pytest.mark.parametrize(
    ("found", "wanted", "is_refused"),
    [
        ("CONSENSUS_MODULE", "CONTAINER", True),
        ("CONTAINER", "CONSENSUS_MODULE", True),
        ("CONSENSUS_MODULE", "BACKUP", True),
        ("BACKUP", "CONSENSUS_MODULE", False),
        ("BACKUP", "CONTAINER", True),
        ("STANDBY", "CONSENSUS_MODULE", True),
        ("UNKNOWN", "CONTAINER", False),
    ],
)
def test_who_may_follow_whom(tmp_path: Path, found: str, wanted: str, *, is_refused: bool) -> None:
    left = f"clock 2000000\nclaim {found}\nready\nterminated\n"
    text = f"existing Mark file type {found} not same as required type {wanted}"
    with_ours(tmp_path, CLUSTER_MARK_NAME, left)
    before = (tmp_path / CLUSTER_MARK_NAME).read_bytes()
    said = with_reference(tmp_path, CLUSTER_MARK_NAME, f"clock 2000001\nclaim {wanted}\n")
    expected = f"io.aeron.cluster.client.ClusterException: ERROR - {text}"
    assert said == ([expected] if is_refused else [])
    (tmp_path / CLUSTER_MARK_NAME).write_bytes(before)
    again = f"clock 2000001\nclaim {wanted}\n"
    if is_refused:
        with pytest.raises(FileFormatError, match=text):
            with_ours(tmp_path, CLUSTER_MARK_NAME, again)
        assert (tmp_path / CLUSTER_MARK_NAME).read_bytes() == before
    else:
        assert with_ours(tmp_path, CLUSTER_MARK_NAME, again).header.component_type.name == wanted


def test_errors_of_the_owner_before_are_saved_by_each(tmp_path: Path) -> None:
    life = "clock 2000000\nclaim CONSENSUS_MODULE\nready\n"
    again = "clock 3000000\nclaim CONSENSUS_MODULE\nerrors\n"
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for folder in (theirs, ours):
        folder.mkdir()
        with_reference(folder, CLUSTER_MARK_NAME, f"{life}error refused\n")
    said = with_reference(theirs, CLUSTER_MARK_NAME, again)
    mark = with_ours(ours, CLUSTER_MARK_NAME, again.replace("errors\n", ""))
    assert mark.errors() == []
    assert mark.saved_errors is not None
    (saved,) = theirs.glob("*-error.log")
    assert said == [f"WARNING: existing errors saved to: {saved}"]
    assert mark.after_crash
    assert Path(mark.saved_errors).parent == ours
    # The reference names the file after the machine's time, whatever clock it was given.
    assert Path(mark.saved_errors).name == "CONSENSUS_MODULE-1970-01-01-00-50-00-000+0000-error.log"
    assert len(saved.name) == len(Path(mark.saved_errors).name)
    assert Path(mark.saved_errors).read_text().rstrip() == saved.read_text().rstrip()


def test_a_link_leads_to_a_mark_file_elsewhere(tmp_path: Path) -> None:
    cluster, marks, theirs = tmp_path / "cluster", tmp_path / "marks", tmp_path / "theirs"
    for folder in (cluster, marks, theirs):
        folder.mkdir()
    name = service_mark_name(1)
    given = header("CONTAINER", 5)
    ClusterMarkFile.claim(cluster, given, name=name, mark_dir=marks).ready()
    with_reference(marks, name, f"link {theirs}\n")
    link = "cluster-mark-service-1.lnk"
    assert (cluster / link).read_bytes() == (theirs / link).read_bytes()
    assert ClusterMarkFile.open(theirs, name=name).header.component_type.name == "CONTAINER"


def test_the_candidate_term_of_an_old_mark_file_is_kept(tmp_path: Path) -> None:
    life = "clock 2000000\nclaim CONSENSUS_MODULE\nready\nterminated\n"
    again = "clock 3000000\nclaim CONSENSUS_MODULE\n"
    path = tmp_path / CLUSTER_MARK_NAME
    at = with_ours(tmp_path, CLUSTER_MARK_NAME, life).offset_of("candidate_term_id")
    data = bytearray(path.read_bytes())
    data[at : at + 8] = (41).to_bytes(8, "little")
    for old in (bytes(data), bytes(data[8:])):  # the older one has no message header
        path.write_bytes(old)
        assert with_reference(tmp_path, CLUSTER_MARK_NAME, f"{again}print\n")[1].endswith(" 41")
        theirs = ClusterMarkFile.HEADER.decode(path.read_bytes())
        path.write_bytes(old)
        mark = with_ours(tmp_path, CLUSTER_MARK_NAME, again)
        assert (mark.candidate_term_id, mark.offset_of("candidate_term_id")) == (41, 40)
        # Ours shows that a start is under way where the reference has cleared the old layout.
        assert mark.activity_timestamp == 2**63 - 1
        theirs.activity_timestamp, theirs.pid = 2**63 - 1, 77
        assert ClusterMarkFile.HEADER.decode(path.read_bytes()) == theirs
