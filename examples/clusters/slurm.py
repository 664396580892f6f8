"""Score with workers in SLURM jobs; the options after the number of jobs are those of `anls score`.

python slurm.py 4 runs/ -r references/ --out scored

What a job gets is set in ~/.config/dask/jobqueue.yaml, as https://jobqueue.dask.org describes: queue, cores, memory,
walltime. The workers of a job run one process per core.
"""

import contextlib
import logging
import signal
import subprocess
import sys

import dask
from dask_jobqueue import SLURMCluster

scoring: list[subprocess.Popen[bytes]] = []


def main() -> int:
    """Submit the jobs, score, and cancel the jobs."""
    jobs, *options = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    # Tasks hold no data that a paused worker could release, so that it would wait for ever.
    no_pause = "export DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE=False"
    # Ends a worker in which Dask itself runs out of memory, so that another is started.
    preload = ["--preload", "anls_eval.cluster.preload"]
    cluster = SLURMCluster(
        processes=dask.config.get("jobqueue.slurm.cores"),
        job_script_prologue=[*dask.config.get("jobqueue.slurm.job-script-prologue"), no_pause],
        worker_extra_args=[*dask.config.get("jobqueue.slurm.worker-extra-args"), *preload],
    )
    try:
        submit(cluster, int(jobs))
        # Jobs may wait in the queue for an hour.
        options += ["--scheduler", cluster.scheduler_address, "--patience", "3600"]
        return run([sys.executable, "-m", "anls_eval", "score", *options])
    finally:
        with contextlib.suppress(AssertionError):  # of jobs that were refused; the others have been cancelled before
            cluster.close()


def submit(cluster: SLURMCluster, jobs: int) -> None:
    """Submit the jobs, or end with what `sbatch` said."""

    async def submitted() -> None:
        cluster.scale(jobs=jobs)
        await cluster

    logging.getLogger("tornado.application").disabled = True  # which shows the traceback of what is raised here
    try:
        cluster.sync(submitted)
    except (OSError, RuntimeError) as error:
        sys.exit(f"error: the jobs cannot be submitted: {error}")


def run(command: list[str]) -> int:
    """Run a command, and return its status as a shell would."""
    # In a session of its own, it gets Ctrl-C from `end` alone.
    with subprocess.Popen(command, start_new_session=True) as process:  # noqa: S603 - what the user asked for
        scoring.append(process)
        status = process.wait()
    return status if status >= 0 else 128 - status


def end(number: int, _: object) -> None:
    """Leave it to `anls score` to end by a signal; before it runs, cancel the jobs."""
    if not scoring:
        sys.exit(128 + number)
    scoring[0].send_signal(number)


if __name__ == "__main__":
    sys.exit(main())
