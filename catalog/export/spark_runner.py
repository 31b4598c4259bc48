"""The runner that loads units with Spark, one task for each unit.

Without rules and without an expression for the date, a task reads, decodes and writes its unit by
itself. With them, rows pass through Spark, which computes the expressions. That happens in the same
task, since no rows are shuffled.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import tempfile
import uuid
import warnings
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from aerolog.catalog.export.pipeline import columns as c
from aerolog.catalog.export.pipeline.errors import RuleError, SparkRunError
from aerolog.catalog.export.pipeline.unit_reader import load
from aerolog.catalog.export.pipeline.unit_writer import write
from aerolog.catalog.export.pipeline.units import UnitResult
from aerolog.catalog.extras import require
from aerolog.transport.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from aerolog.catalog.export.pipeline.job import Job, Rule
    from aerolog.catalog.export.pipeline.job_run import Work
    from aerolog.catalog.export.pipeline.units import Unit
else:
    pa = require("pyarrow", "pipelines")

_POLL_S: Final = 0.2
_STOP_TIMEOUT_S: Final = 30.0
_REACH_S: Final = 10.0
#: How Spark names a task by the number of its partition.
_TASK: Final = re.compile(r"Task (\d+) in stage")
_WORKER_DIED: Final = ("java.io.EOFException", "Python worker exited unexpectedly")
_RANGES_SHOWN: Final = 3
#: Configuration unless the job says otherwise: Spark prints nothing, the time zone is UTC, and an
#: expression that cannot be computed is null.
DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}


def _is_of_the_jvm(error: BaseException) -> bool:
    """Whether an error is that of a connection to Spark's JVM, which has ended then."""
    return isinstance(error, ConnectionError | EOFError) or "Py4JNetwork" in type(error).__name__


def _names_a_dead_jvm(method: Any) -> Any:
    """Raise `SparkRunError` where the connection to Spark's JVM breaks: its text names no JVM."""

    @wraps(method)
    def named(self: Any, *arguments: Any) -> Any:
        try:
            return method(self, *arguments)
        except Exception as error:
            if not _is_of_the_jvm(error):
                raise
            raise SparkRunError(
                "the JVM of Spark has ended, nothing was loaded; was it killed, or out of memory?"
                f" Its log is {self.log}"
            ) from error

    return named


class SparkExecutor:
    """Runs units on a session of its own, or on one that is given. See ``job_run.Executor``."""

    def __init__(self, job: Job, session: Any = None) -> None:
        self._job = job
        self._given = session is not None
        self._session = session
        self._log: Path | None = None

    @property
    def session(self) -> Any:
        """The session in use, None before ``start``."""
        return self._session

    @property
    def log(self) -> Path | None:
        """The file with the output of the JVM; None where the session was given."""
        return self._log

    def start(self) -> None:
        """Start a session, unless one was given.

        Raises:
            SparkRunError: no master of the job's URL can be reached, or Spark does not start.
        """
        if self._session is not None:
            return
        check_master(self._job.master)
        sql = require("pyspark.sql", "pipelines")
        # Workers take another Python from the path unless they are told.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf = {**DEFAULTS, **self._job.spark_conf, "spark.master": self._job.master}
        conf["spark.app.name"] = f"aerolog pipeline {self._job.name}"
        builder = sql.SparkSession.builder.config(map=conf)
        handle, name = tempfile.mkstemp(prefix=f"aerolog-{self._job.name}-", suffix="-spark.log")
        self._log = Path(name)
        with _stderr_to(handle), warnings.catch_warnings(action="ignore"):
            try:
                self._start_jvm(conf)
                self._session = builder.getOrCreate()
            except Exception as error:
                self._hide_in_log()
                raise SparkRunError(
                    f"Spark did not start at {self._job.master}: {_first_line(error)};"
                    f" its log is {self._log}"
                ) from error
        self._session.sparkContext.setLogLevel("ERROR")

    def _start_jvm(self, conf: dict[str, str]) -> None:
        """Start the JVM without secrets on its command line, where every user can read them.

        The session hands them over through the connection to the JVM.
        """
        pyspark: Any = require("pyspark", "pipelines")
        open_conf = pyspark.SparkConf(loadDefaults=False)
        for key, value in conf.items():
            entry = f"{key}={value}"
            if self._hidden(entry) == entry:
                open_conf.set(key, value)
        pyspark.SparkContext._ensure_initialized(conf=open_conf)  # noqa: SLF001

    def _hidden(self, text: str) -> str:
        return self._job.as_written(without_secrets(text))

    def _hide_in_log(self) -> None:
        """Hide secrets in the log of the JVM, which is kept."""
        assert self._log is not None
        self._log.write_text(self._hidden(self._log.read_text(errors="replace")))

    @_names_a_dead_jvm
    def run(self, work: Work, progress: Callable[[int], None]) -> list[UnitResult]:
        """See ``job_run.Executor``."""
        units, count = list(work.units), len(work.units)
        decoder, how = work.decoder, work.how
        reading: dict[str, Any] = {
            "skip_damage": work.job.output.skip_damage,
            "time_source": work.job.time_source,
        }

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for index in batch.column(0).to_pylist():
                    yield from load(units[index], decoder, **reading)

        staged = self._session.sparkContext.accumulator(0)
        names = c.carried_schema(how.rows).names

        def read_and_write(index: int) -> str:
            rows = load(units[index], decoder, **reading)
            result = write(units[index], rows, how).to_json()
            staged.add(units[index].length)
            return result

        def write_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            unit = units[context.partitionId()]
            done = write(unit, (_renamed(batch, names) for batch in batches), how)
            staged.add(unit.length)
            yield pa.RecordBatch.from_pydict({"result": [done.to_json()]})

        # One number a partition, its own: so a task knows its unit, however often it is repeated.
        if not work.job.rules and work.job.output.date is None:
            numbers = self._session.sparkContext.parallelize(range(count), count)
            collect = numbers.map(read_and_write).collect
        else:
            require("pandas", "a pipeline with rules or a date expression")
            with (
                warnings.catch_warnings(action="ignore"),  # of a pandas newer than Spark knows
                _refusals_told(),
            ):
                schema = _spark_schema(c.carried_schema(how.rows))
                rows = self._session.range(0, count, 1, count).mapInArrow(read, schema)
                results = self._ruled(rows, work).mapInArrow(write_rows, "result string")

            def collect() -> list[str]:
                return [row.result for row in results.collect()]

        length = sum(unit.length for unit in units)

        def tell() -> None:
            progress(min(staged.value, length))  # a task that was repeated counts twice

        results = [UnitResult.from_json(text) for text in self._collected(collect, tell, units)]
        progress(length)
        return results

    def close(self) -> None:
        """Stop the session and its JVM, unless the session was given."""
        session, self._session = self._session, None
        if self._given or session is None:
            return
        from pyspark import SparkContext

        # Stopping a session leaves its JVM to the end of this process. It ends with its input.
        gateway = session.sparkContext._gateway  # noqa: SLF001
        has_died = False
        try:
            session.stop()
            gateway.shutdown()
        except Exception as error:
            # What was loaded is loaded: the run does not fail because the JVM has ended before.
            if not _is_of_the_jvm(error):
                raise
            has_died = True
        if gateway.proc is not None:
            gateway.proc.stdin.close()
            gateway.proc.wait(_STOP_TIMEOUT_S)
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
        if has_died and self._log is not None:
            self._hide_in_log()  # The error has named the log.
        elif self._log is not None:
            self._log.unlink(missing_ok=True)

    def _ruled(self, frame: Any, work: Work) -> Any:
        """Rows with what rules and the date's expression say of them, in columns by number.

        Where Spark hands rows to a function it looks columns up by their names as if they were
        expressions.
        """
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as f

        decoded = [one.name for one in _decoded(work)]
        try:
            if work.job.output.date is not None:
                day = f.expr(work.job.output.date).cast("date")
                frame = frame.withColumn(
                    c.DATE, f.when(f.col(c.KIND) == c.ROW, day).otherwise(f.col(c.DATE))
                )
            ruled = with_rules(frame, work.job.rules, decoded)
            return ruled.toDF(*map(str, range(len(ruled.columns))))
        except PySparkException as error:
            problem = f"the rules or output.date cannot be applied: {_first_line(error)}"
            raise RuleError(self._job.path, "rules", problem) from error

    @_names_a_dead_jvm
    def check(self, rows: pa.Schema) -> None:
        """See ``job_run.Executor``."""
        job = self._job
        if not job.rules and job.output.date is None:
            return
        require("pandas", "a pipeline with rules or a date expression")
        with warnings.catch_warnings(action="ignore"):  # of a pandas newer than Spark knows
            frame = self._session.createDataFrame([], _spark_schema(c.carried_schema(rows)))
        for index, rule in enumerate(job.rules):
            self._check(frame, rule.expression, f"rules[{index}].expression", rule)
        if job.output.date is not None:
            self._check(frame, job.output.date, "output.date")

    def _check(self, frame: Any, expression: str, key: str, rule: Rule | None = None) -> None:
        from pyspark.errors import PySparkException
        from pyspark.sql import functions as f

        name, kind = ("", "date") if rule is None else (f"rule {rule.name}: ", "boolean")
        try:
            with _no_query_log():  # beside the other columns, as in a run: an aggregate is refused
                _ = frame.select("*", f.expr(expression).cast(kind)).schema
        except PySparkException as error:
            problem = f"{name}Spark does not understand {expression!r}: {_first_line(error)}"
            raise RuleError(self._job.path, key, problem) from error

    def _collected(
        self, collect: Callable[[], list[str]], tell: Callable[[], None], units: list[Unit]
    ) -> list[str]:
        """Collect results in a thread, and tell how far it is meanwhile."""
        from pyspark import InheritableThread
        from pyspark.errors import PySparkException

        context = self._session.sparkContext
        group = f"aerolog-{self._job.name}-{uuid.uuid4().hex}"
        collected: list[str] = []
        failed: list[BaseException] = []
        ended = Event()

        def work() -> None:
            try:
                context.setJobGroup(group, f"aerolog pipeline {self._job.name}", True)
                collected.extend(collect())
            except BaseException as error:  # noqa: BLE001 - it is raised again below
                failed.append(error)
            finally:
                ended.set()

        thread = InheritableThread(target=work, daemon=True)
        thread.start()
        try:
            while not ended.wait(_POLL_S):
                tell()
        except BaseException:
            context.cancelJobGroup(group)
            raise
        thread.join()
        if failed:
            error = failed[0]
            is_spark = isinstance(error, PySparkException) or "Py4J" in type(error).__name__
            if not is_spark or _is_of_the_jvm(error):
                raise error
            raise SparkRunError(
                f"Spark gave the work up{_where(error, units)}, nothing was loaded: {_why(error)}"
            ) from error
        return collected


def _decoded(work: Work) -> list[pa.Field]:
    """The decoded columns of a run's rows."""
    from aerolog.catalog.decoders import PLACE_COLUMNS

    return [one for one in work.how.rows if one.name not in PLACE_COLUMNS]


def with_rules(frame: Any, rules: tuple[Rule, ...], decoded: list[str]) -> Any:
    """Apply rules: rows that break one become rejects, failures, or are counted.

    Args:
        frame: data frame with the columns of ``columns.carried_schema``.
        rules: the first rule that a row breaks counts, those that fail the run before those that
            reject the row. A row for which a rule is null breaks it.
        decoded: names of the columns that a reject shows, as JSON.
    """
    from pyspark.sql import functions as f

    is_row = f.col(c.KIND) == c.ROW
    kind, text, payload, kept = (f.col(one) for one in (c.KIND, c.TEXT, c.PAYLOAD, c.KEPT))
    shown = f.to_json(f.struct(*(f.col(quoted(name)) for name in decoded))).cast("binary")
    order = {"reject": 0, "fail": 1}
    judged = [one for one in rules if one.on_broken in order][::-1]
    for rule in sorted(judged, key=lambda one: order[one.on_broken]):
        broken = is_row & ~_holds(rule)
        says = f"rule {rule.name}: {rule.expression}"
        if rule.on_broken == "reject":
            kind = f.when(broken, c.REJECT).otherwise(kind)
            text = f.when(broken, f.lit(says)).otherwise(text)
            payload = f.when(broken, shown).otherwise(payload)
        else:
            kind = f.when(broken, c.FAILURE).otherwise(kind)
            where = (f.lit("position "), f.col("position"), f.lit(" of recording "))
            whole = f.concat(*where, f.col("recording_id"), f.lit(f" breaks {says}"))
            text = f.when(broken, whole).otherwise(text)
    for bit, rule in enumerate(one for one in rules if one.on_broken == "keep"):
        counted = kept.bitwiseOR(f.lit(1 << bit).cast("bigint"))
        kept = f.when(is_row & ~_holds(rule), counted).otherwise(kept)
    new = {c.KIND: kind.cast("int"), c.TEXT: text, c.PAYLOAD: payload, c.KEPT: kept}
    columns = [new.get(name, f.col(quoted(name))).alias(name) for name in frame.columns]
    return frame.select(*columns)


def quoted(name: str) -> str:
    """A column's name as an expression of Spark SQL, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def _renamed(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(batch.columns, names=names)


def _holds(rule: Rule) -> Any:
    from pyspark.sql import functions as f

    return f.coalesce(f.expr(rule.expression).cast("boolean"), f.lit(False))


def _spark_schema(schema: pa.Schema) -> Any:
    types = require("pyspark.sql.pandas.types", "pipelines")
    return types.from_arrow_schema(schema, prefer_timestamp_ntz=True)


def check_master(master: str, timeout_s: float = _REACH_S) -> None:
    """Check that a master listens, since Spark itself tries for minutes.

    Args:
        master: URL of one master or of several, or a mode without one, such as ``local[*]``.
        timeout_s: how long to wait for an answer in all.

    Raises:
        SparkRunError: none of them answers; the text has the URL.
    """
    if without_secrets(master) != master:
        raise SparkRunError(
            f"no Spark master has a user or a password as {master} has: spark.master is HOST:PORT"
            " after spark://, or a mode such as local[*]"
        )
    scheme, found, places = master.partition("://")
    if not found or scheme not in {"spark", "k8s"}:
        return
    problem = "it names no host and port"
    hosts = places.removeprefix("https://").removeprefix("http://").split(",")
    addresses = []
    for place in hosts:
        host, _, port = place.partition("/")[0].rpartition(":")
        try:
            addresses += socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
        except ValueError:
            continue
        except OSError as error:
            problem = error.strerror or str(error)
    for family, kind, protocol, _, address in addresses:
        with socket.socket(family, kind, protocol) as tried:
            tried.settimeout(timeout_s / len(addresses))  # a host may have several addresses
            try:
                tried.connect(address)
            except OSError as error:
                problem = error.strerror or str(error) or type(error).__name__
            else:
                return
    raise SparkRunError(
        f"no Spark master answers at {master}: {problem}; start it, or name another one as"
        " spark.master"
    )


@contextmanager
def _refusals_told() -> Iterator[None]:
    """Turn what Spark says of a plan into our error, while there is a JVM that can say it.

    Raises:
        SparkRunError: Spark refuses the plan.
    """
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise SparkRunError(
            f"Spark refuses the work, nothing was loaded: {_first_line(error)}"
        ) from None


@contextmanager
def _no_query_log() -> Iterator[None]:
    """Keep PySpark from logging what it is about to raise, with a page of Java's stack."""
    logger = logging.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _first_line(error: BaseException) -> str:
    """The line with which Spark begins to say what is wrong."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line), type(error).__name__)[:500]


def _where(error: BaseException, units: list[Unit]) -> str:
    """The recordings and ranges of the task that failed, which has its unit's number."""
    found = _TASK.search(str(error))
    if found is None or int(found[1]) >= len(units):
        return ""
    unit = units[int(found[1])]
    ranges = [
        f"recording {one.recording_id} from {one.from_position} to {one.until_position}"
        for one in unit.slices
    ]
    more = "" if len(ranges) <= _RANGES_SHOWN else f" and {len(ranges) - _RANGES_SHOWN} more"
    shown = ", ".join(ranges[:_RANGES_SHOWN])
    return f" while it loaded {shown}{more} of {without_secrets(unit.place)}"


def _why(error: BaseException) -> str:
    """What Spark says of a failure; a worker process that dies leaves nothing but a broken pipe."""
    line = _last_line(error)
    if any(one in str(error) for one in _WORKER_DIED):
        return (
            f"the worker process died ({line}), as when it has no memory left or native code fails"
        )
    return line


def _last_line(error: BaseException) -> str:
    """The line of an exception of Spark that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("at ", "File ", "JVM stacktrace"))]
    causes = [line for line in told if "Error" in line or "Exception" in line]
    return (causes or told or [type(error).__name__])[-1][:500]


@contextmanager
def _stderr_to(handle: int) -> Iterator[None]:
    """Let processes that are started in this context write their stderr to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(handle, 2)
    os.close(handle)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
