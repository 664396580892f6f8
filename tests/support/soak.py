"""Score a data set again and again while processes die, stand still or run out of room, and files are damaged.

Each run has one fault at a random moment. It must end with the score of one process, to the bit, or in words, within
the time that docs/scale.md states; no process may be left; and a run with ``--resume``, often after files in the
output folder were damaged, must complete with that score and the scores of all questions. The seed of each run is
printed and determines all that is random, but not the timing of processes.

Run ``make soak MINUTES=30``, or ``PYTHONPATH=.:tests/support python -m soak --help``.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import psutil
import pyarrow.parquet as pq
from dataset_command import DatasetCommand, finished
from full_disk import enlarge, small_disk

from anls_eval.files import open_predictions, open_references
from anls_eval.submission.score import score_questions
from benchmarks.generate import write_dataset

FILES = 30
PATIENCE = 3  # seconds, in place of 30, so that many runs fit into the time
LIMIT = 240.0  # seconds in which every run must have ended: those of a start that stands still, and a busy machine
ENDS = 30.0  # seconds in which all processes of a run that has ended must have ended
SMALL, LARGE = "300k", "1g"  # of a disk that is full, and that is not


class Expected(NamedTuple):
    """What one process makes of the data."""

    result: dict[str, Any]  # the fields that do not depend on how it was obtained
    ids: list[str]
    scores: npt.NDArray[np.float64]


class Fault(NamedTuple):
    """What happens in the middle of a run."""

    happen: Callable[["Setting"], None]
    on_own_workers: bool = True
    on_a_cluster: bool = True
    statuses: tuple[int, ...] = (0, 2)  # with which the run may end


class Setting:
    """A run that is under way, its cluster, and what is random about it."""

    def __init__(self, generator: random.Random, out: Path, cluster: "Cluster | None") -> None:
        self.generator, self.out, self.cluster = generator, out, cluster
        self.run: DatasetCommand

    def workers(self) -> list[psutil.Process]:
        """The processes of the workers that have started."""
        if self.cluster is not None:
            return [worker for worker in self.cluster.workers if worker.is_running()]
        with contextlib.suppress(psutil.NoSuchProcess):
            children = self.run.process.children(recursive=True)
            return [child for child in children if "spawn_main" in " ".join(_command(child))]
        return []

    def send(self, processes: list[psutil.Process], what: signal.Signals) -> None:
        """Send a signal to processes, of which some may have ended."""
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(what)

    def one_worker(self) -> list[psutil.Process]:
        """One worker, if there is any."""
        workers = self.workers()
        return [self.generator.choice(workers)] if workers else []


def _command(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return list(process.cmdline())
    return []


def stop_the_client_for_a_while(setting: Setting) -> None:
    """As a laptop whose lid is closed."""
    with contextlib.suppress(psutil.NoSuchProcess):  # it may just have ended
        setting.run.process.send_signal(signal.SIGSTOP)
        time.sleep(setting.generator.uniform(0.1, 5))
        setting.run.process.send_signal(signal.SIGCONT)


def schedulers(setting: Setting) -> list[psutil.Process]:
    return [setting.cluster.scheduler] if setting.cluster is not None else []


FAULTS = {
    "none": Fault(lambda setting: None, statuses=(0,)),
    "a worker is killed": Fault(lambda setting: setting.send(setting.one_worker(), signal.SIGKILL)),
    "all workers are killed": Fault(lambda setting: setting.send(setting.workers(), signal.SIGKILL)),
    "a worker stands still": Fault(lambda setting: setting.send(setting.one_worker(), signal.SIGSTOP)),
    "the scheduler is killed": Fault(
        lambda setting: setting.send(schedulers(setting), signal.SIGKILL), on_own_workers=False
    ),
    "the scheduler stands still": Fault(
        lambda setting: setting.send(schedulers(setting), signal.SIGSTOP), on_own_workers=False
    ),
    "the client is killed": Fault(
        lambda setting: setting.send([setting.run.process], signal.SIGKILL), statuses=(0, -signal.SIGKILL)
    ),
    "the client stands still for a while": Fault(stop_the_client_for_a_while),
    "Ctrl-C": Fault(lambda setting: setting.run.interrupt(), statuses=(0, 130)),
    "SIGTERM": Fault(lambda setting: setting.run.interrupt(signal.SIGTERM), statuses=(0, 143)),
    "the disk is full": Fault(lambda setting: None, statuses=(2,)),
}
FULL = "the disk is full"


class Cluster:
    """A scheduler and two workers, each in a process of its own."""

    def __init__(self, folder: Path) -> None:
        file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        while not (file.exists() and file.read_text()):
            time.sleep(0.05)
        self.address: str = json.loads(file.read_text())["address"]
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder)]
        self.workers = [self._start("worker", self.address, *options) for _ in range(2)]

    def _start(self, kind: str, *options: str) -> psutil.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options]
        return psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def end(self) -> None:
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


def damage(generator: random.Random, out: Path) -> str:
    """Damage one file in the output folder in one way, and return which and how."""
    paths = sorted(path for path in out.rglob("*") if path.is_file())
    if not paths:
        return "nothing to damage"
    path = generator.choice(paths)
    content = path.read_bytes()
    how = generator.choice(["removed", "emptied", "cut off", "altered"])
    if how == "removed":
        path.unlink()
    elif how == "emptied" or not content:
        path.write_bytes(b"")
    elif how == "cut off":
        path.write_bytes(content[: generator.randrange(len(content))])
    else:
        at = generator.randrange(len(content))
        path.write_bytes(content[:at] + bytes([content[at] ^ 1 << generator.randrange(8)]) + content[at + 1 :])
    return f"{path.relative_to(out)} {how}"


class Soak:
    """Runs with faults, one after another."""

    def __init__(self, folder: Path, rows: int, names: list[str]) -> None:
        self.folder, self.names, self.rows = folder, names, rows
        self.data = {"paired": folder / "paired", "by id": folder / "apart"}
        for name, own in self.data.items():
            write_dataset(own, rows, FILES, apart=name == "by id")
        self.expected = expected_of(self.data["paired"])
        self.counts: Counter[str] = Counter()

    def attempt(self, seed: int) -> list[str]:
        """Do one run with a fault and its continuation, and return what was wrong."""
        generator = random.Random(seed)
        data = generator.choice(sorted(self.data))
        is_outside = generator.random() < 0.5
        fitting = [
            name for name in self.names if (FAULTS[name].on_a_cluster if is_outside else FAULTS[name].on_own_workers)
        ] or ["none"]
        name = generator.choice(fitting)
        parts, seconds = generator.randrange(FILES), generator.uniform(0, 12)
        by_parts = generator.random() < 0.7
        moment = f"after {parts} parts" if by_parts else f"after {seconds:.1f} s"
        where = "on a cluster" if is_outside else "on own workers"
        self.counts[name] += 1
        print(f"seed {seed}: {data}, {where}, {name} {moment}", end="", flush=True)
        base = Path(tempfile.mkdtemp(prefix="run-", dir=self.folder))
        disk = base / "disk"
        disk.mkdir()
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, base, ignore_errors=True)
            if name == FULL and not stack.enter_context(small_disk(disk, SMALL)):
                name = "none"
            setting = Setting(generator, disk / "out", self._cluster(base, stack) if is_outside else None)
            status, said, left = self._run(setting, self.data[data], name, parts if by_parts else None, seconds)
            wrong = self._wrong(setting, FAULTS[name].statuses, status, said, left)
            print(f": {status}", end="", flush=True)
            if not (disk / "out" / "_work").exists():  # it ended before the folder was made
                print()
                return wrong
            if name == FULL:
                enlarge(disk, LARGE)
            done = [damage(generator, disk / "out")] if status and generator.random() < 0.6 else []
            again = Setting(generator, disk / "out", self._cluster(base, stack) if is_outside else None)
            resumed, told, left = self._run(again, self.data[data], "none", None, 0.0, "--resume")
            continued = self._wrong(again, (0,), resumed, told, left)
            wrong += [f"--resume after {', '.join(done) or 'no damage'}: {own}" for own in continued]
            print(f", {', '.join([*done, '--resume'])}: {resumed}", flush=True)
        return wrong

    def _cluster(self, folder: Path, stack: contextlib.ExitStack) -> Cluster:
        cluster = Cluster(Path(tempfile.mkdtemp(dir=folder)))
        stack.callback(cluster.end)
        return cluster

    def _run(
        self, setting: Setting, data: Path, name: str, parts: int | None, seconds: float, *options: str
    ) -> tuple[int | None, str, list[str]]:
        """Start a run with a fault; return its status, None if it had to be killed, what it said, and what was left."""
        address = [] if setting.cluster is None else ["--scheduler", setting.cluster.address]
        setting.run = run = DatasetCommand(data, setting.out, *address, "--patience", str(PATIENCE), *options)
        begun = time.monotonic()

        def is_time() -> bool:
            if parts is None:
                return time.monotonic() - begun >= seconds
            return finished(setting.out) >= parts and (parts > 0 or (setting.out / "_work").exists())

        while run.process.poll() is None and not is_time():
            time.sleep(0.005)
        FAULTS[name].happen(setting)
        try:
            status, printed, said = run.wait(LIMIT)
        except subprocess.TimeoutExpired:
            run.kill()
            return None, "", []
        left = [" ".join(_command(process)) for process in run.left(ENDS)]
        if status == 0:
            self._printed = json.loads(printed)
        return status, said, left

    def _wrong(
        self, setting: Setting, statuses: tuple[int, ...], status: int | None, said: str, left: list[str]
    ) -> list[str]:
        """Return what is wrong about a run that has ended."""
        if status is None:
            return [f"it had not ended after {LIMIT:.0f} s"]
        wrong = [f"a process was left: {command}" for command in left]
        if status not in statuses:
            wrong.append(f"status {status}; expected one of {statuses}: {said}")
        if "Traceback" in said:
            wrong.append(f"a traceback: {said}")
        if status not in (0, -signal.SIGKILL) and not said.strip():
            wrong.append("it ended without a word")
        if status == 0:
            wrong += self._wrong_result(setting.out)
        return wrong

    def _wrong_result(self, out: Path) -> list[str]:
        wrong = [
            f"{name} is {self._printed[name]}; expected {value}"
            for name, value in self.expected.result.items()
            if self._printed[name] != value
        ]
        table = pq.read_table(sorted(out.glob("part-*.parquet"))).sort_by("question_id")
        ids, scores = table["question_id"].to_pylist(), table["score"].to_numpy()
        if ids != self.expected.ids or not np.array_equal(scores, self.expected.scores):
            wrong.append(f"the scores of the {len(ids)} questions in {out} differ")
        names = {path.name for path in out.iterdir() if not path.name.startswith("part-")}
        unfinished = [path.name for path in out.rglob(".*")]
        if names != {"_work"} or unfinished or (out / "_work" / "lock").exists():
            wrong.append(f"files were left: {sorted(names)}, {unfinished}")
        return wrong


def expected_of(data: Path) -> Expected:
    """Score the data in this process."""
    sides = open_predictions(data / "predictions"), open_references(data / "references")
    scored = score_questions(*sides, columns=[], by=["model"])
    result = json.loads(json.dumps(scored.submission.to_dict()))
    order = np.argsort(scored.question_ids)
    return Expected(result, [scored.question_ids[at] for at in order], scored.scores[order])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--runs", type=int, help="end after so many runs, if the time is not over before")
    parser.add_argument("--rows", type=int, default=600_000)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first run; the next ones follow")
    parser.add_argument("--only", action="append", choices=list(FAULTS), help="faults to try; all by default")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        soak = Soak(Path(folder), options.rows, options.only or list(FAULTS))
        faults = {}
        seed = options.seed
        while time.monotonic() < end and (options.runs is None or seed - options.seed < options.runs):
            wrong = soak.attempt(seed)
            if wrong:
                faults[seed] = wrong
                print(*(f"  FAULT: {own}" for own in wrong), sep="\n", flush=True)
            seed += 1
    counts = ", ".join(f"{name}: {count}" for name, count in sorted(soak.counts.items()))
    print(f"{seed - options.seed} runs of {options.rows:,} rows with seeds from {options.seed}; {counts}")
    print(f"{len(faults)} runs with a fault: {sorted(faults)}" if faults else "no fault was found")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
