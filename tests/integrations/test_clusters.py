"""examples/clusters: the job of SLURM and the manifest of Kubernetes, read by their own libraries, and run here.

Neither system is at hand: a script in place of sbatch runs the job, and the commands of the pods run as processes.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from dask_kubernetes.operator.controller.controller import (
    build_job_pod_spec,
    build_scheduler_deployment_spec,
    build_scheduler_service_spec,
    build_worker_deployment_spec,
)
from distributed.cli import dask_scheduler, dask_worker
from kubernetes.client import ApiClient
from places import EXAMPLES, ROOT

from anls_eval import score_submission
from benchmarks.generate import write_dataset

CLUSTERS = EXAMPLES / "clusters"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder as the manifest names it."""
    write_dataset(tmp_path / "data", 6_000, 3)
    (tmp_path / "data" / "predictions").rename(tmp_path / "data" / "runs")
    return tmp_path / "data"


def check_score(printed: str, data: Path) -> None:
    expected = score_submission(data / "runs", data / "references")
    found = json.loads(printed)
    assert (found[expected.metric], found["parts"]) == (expected.score, 3)


def options_of(command: list[str], main: Any) -> dict[str, Any]:
    """The options of a command of Dask, as Dask reads them."""
    found: dict[str, Any] = main.make_context("dask", command).params
    return found


SBATCH = """#!/bin/sh
cp "$1" {folder}/job.sh
setsid sh {folder}/job.sh > {folder}/log.txt 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
kill -- "-$1"
touch {folder}/cancelled
"""


@pytest.fixture
def slurm(tmp_path: Path) -> dict[str, str]:
    """The environment of scripts in place of SLURM, and of what a user has set for its jobs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, script in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (folder / name).write_text(script.format(folder=folder), encoding="utf-8")
        (folder / name).chmod(0o755)
    settings = {"QUEUE": "cpu", "CORES": "2", "MEMORY": "4GB", "WALLTIME": "01:00:00"}
    settings |= {"JOB_SCRIPT_PROLOGUE": "['export OMP_NUM_THREADS=1']", "WORKER_EXTRA_ARGS": "['--lifetime', '1h']"}
    environment = ENVIRONMENT | {f"DASK_JOBQUEUE__SLURM__{name}": value for name, value in settings.items()}
    return environment | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_slurm(data: Path, slurm: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    sides = [str(data / "runs"), "-r", str(data / "references")]
    command = [sys.executable, str(CLUSTERS / "slurm.py"), "1", *sides]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "out"), "--json", "--quiet"],
        env=slurm,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    check_score(done.stdout, data)
    assert (folder / "cancelled").exists()
    script = (folder / "job.sh").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^#SBATCH (.*)$", script)[1:] == [
        "-p cpu",
        "-n 1",
        "--cpus-per-task=2",
        "--mem=4G",
        "-t 01:00:00",
    ]
    assert {"export OMP_NUM_THREADS=1", "export DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE=False"} <= set(
        script.split("\n")
    )
    [worker] = (shlex.split(line) for line in script.splitlines() if "dask_worker" in line)
    options = options_of(worker[worker.index("distributed.cli.dask_worker") + 1 :], dask_worker.main)
    assert (int(options["n_workers"]), options["nthreads"]) == (2, 1)
    assert (options["lifetime"], options["preload"]) == ("1h", ("anls_eval.cluster.preload",))


@pytest.mark.parametrize(
    ("kind", "is_kept"),
    [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGHUP, True)],
)
def test_slurm_interrupted(
    kind: signal.Signals, is_kept: bool, slurm: dict[str, str], processes: list[psutil.Popen], tmp_path: Path
) -> None:
    """The run ends by itself, in words and with its status, and the jobs are cancelled."""
    write_dataset(tmp_path, 2_000_000, 8)
    (tmp_path / "runs").mkdir()
    command = [sys.executable, str(CLUSTERS / "slurm.py"), "1", str(tmp_path / "predictions")]
    command += ["-r", str(tmp_path / "references"), *(["--out", str(tmp_path / "out")] if is_kept else [])]
    process = psutil.Popen(
        command,
        env=slurm,
        cwd=tmp_path / "runs",
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    processes.append(process)
    where = tmp_path / "out" if is_kept else tmp_path / "runs"
    wait_until(lambda: [*where.glob("**/part-*")])
    os.killpg(process.pid, kind)
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed) == (128 + kind, ""), said
    words = "interrupted" if kind == signal.SIGINT else f"interrupted by {kind.name}"
    assert said.splitlines()[-1].startswith(words), said
    assert (tmp_path / "bin" / "cancelled").exists()
    left = [path.name for path in (tmp_path / "runs").iterdir() if path.name != "dask-scratch-space"]
    assert not left
    if is_kept:
        assert "lock" not in {path.name for path in (tmp_path / "out" / "_work").iterdir()}


@pytest.mark.parametrize(
    ("sbatch", "words"),
    [
        ("#!/bin/sh\necho sbatch: error: invalid partition >&2\nexit 1\n", "sbatch: error: invalid partition"),
        ("", "'sbatch'"),
    ],
)
def test_slurm_that_refuses_the_jobs(
    sbatch: str, words: str, data: Path, slurm: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "bin" / "sbatch").write_text(sbatch, encoding="utf-8")
    if not sbatch:
        (tmp_path / "bin" / "sbatch").unlink()
    command = [sys.executable, str(CLUSTERS / "slurm.py"), "2", str(data / "runs"), "-r", str(data / "references")]
    done = subprocess.run(command, env=slurm, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("error: the jobs cannot be submitted: ")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def manifest() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CLUSTERS / "kubernetes.yaml").read_text(encoding="utf-8"))
    return found


def read_by_kubernetes(value: Any, kind: str) -> Any:
    """Read an object as the client of Kubernetes does, which refuses one without what is required."""
    return ApiClient().deserialize(json.dumps(value), kind, "application/json")


def test_kubernetes(data: Path, tmp_path: Path, manifest: dict[str, Any], processes: list[psutil.Popen]) -> None:
    cluster = manifest["spec"]["cluster"]["spec"]
    common: dict[str, Any] = {"namespace": "default", "cluster_name": "anls", "annotations": {}, "labels": {}}
    job = read_by_kubernetes(
        build_job_pod_spec(job_name="anls", spec=manifest["spec"]["job"]["spec"], **common), "V1Pod"
    )
    worker_spec = build_worker_deployment_spec(
        worker_group_name="anls-default", uuid="1", pod_spec=cluster["worker"]["spec"], **common
    )
    worker = read_by_kubernetes(worker_spec, "V1Deployment").spec.template
    for pod in (job, worker):
        assert pod.spec.volumes[0].persistent_volume_claim.claim_name == "data"
        assert pod.spec.containers[0].volume_mounts[0].mount_path == "/data"
    scheduler_spec, service_spec = (
        build(cluster_name="anls", annotations={}, labels={}, **cluster_spec)
        for build, cluster_spec in (
            (build_scheduler_deployment_spec, {"pod_spec": cluster["scheduler"]["spec"]}),
            (build_scheduler_service_spec, {"spec": cluster["scheduler"]["service"]}),
        )
    )
    assert read_by_kubernetes(service_spec, "V1Service").spec.ports[0].port == 8786
    scheduler = read_by_kubernetes(scheduler_spec, "V1Deployment").spec.template.spec.containers[0]
    options_of(scheduler.args[2:], dask_scheduler.main)
    options = options_of(worker.spec.containers[0].args[2:], dask_worker.main)
    assert (options["nthreads"], options["preload"]) == (1, ("anls_eval.cluster.preload",))

    contact = tmp_path / "scheduler.json"
    start = [sys.executable, "-m", *scheduler.args, "--port", "0", "--no-dashboard", "--scheduler-file", str(contact)]
    processes.append(psutil.Popen(start, env=ENVIRONMENT))
    wait_until(lambda: contact.exists() and contact.read_text())
    address = json.loads(contact.read_text())["address"]
    command, environment = started(worker.spec.containers[0], address, data)
    processes.append(psutil.Popen(command, env=environment))
    command, environment = started(job.spec.containers[0], address, data)
    done = subprocess.run(
        [*command, "--json", "--quiet"], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    check_score(done.stdout, data)
    assert len(list((data / "scored").glob("*.parquet"))) == 3


def started(container: Any, address: str, data: Path) -> tuple[list[str], dict[str, str]]:
    """The command and environment of a container, with this machine's address of the scheduler and folder of data."""
    own = {variable.name: variable.value for variable in container.env} | {"DASK_SCHEDULER_ADDRESS": address}
    arguments = [re.sub(r"\$\((\w+)\)", lambda name: own[name[1]], text) for text in container.args]
    modules = {"anls": "anls_eval"}
    command = [sys.executable, "-m", modules.get(arguments[0], arguments[0]), *arguments[1:]]
    return [text.replace("/data", str(data)) for text in command], ENVIRONMENT | own


@pytest.fixture
def processes() -> Iterator[list[psutil.Popen]]:
    own: list[psutil.Popen] = []
    yield own
    for process in own:
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
            for each in [*process.children(recursive=True), process]:
                each.kill()
    psutil.wait_procs(own)


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
