"""Score with workers in SLURM jobs; the options after the number of jobs are those of `anls score`.

python slurm.py 4 runs/ -r references/ --out scored

What a job gets is set in ~/.config/dask/jobqueue.yaml, as https://jobqueue.dask.org describes: queue, cores, memory,
walltime. The workers of a job run one process per core.
"""

import subprocess
import sys

import dask
from dask_jobqueue import SLURMCluster


def main() -> int:
    """Submit the jobs, score, and cancel the jobs."""
    jobs, *options = sys.argv[1:]
    # Tasks hold no data that a paused worker could release, so that it would wait for ever.
    no_pause = "export DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE=False"
    # Ends a worker in which Dask itself runs out of memory, so that another is started.
    preload = ["--preload", "anls_eval.cluster.preload"]
    with SLURMCluster(
        processes=dask.config.get("jobqueue.slurm.cores"),
        job_script_prologue=[*dask.config.get("jobqueue.slurm.job-script-prologue"), no_pause],
        worker_extra_args=[*dask.config.get("jobqueue.slurm.worker-extra-args"), *preload],
    ) as cluster:
        cluster.scale(jobs=int(jobs))
        # Jobs may wait in the queue for an hour.
        options += ["--scheduler", cluster.scheduler_address, "--patience", "3600"]
        command = [sys.executable, "-m", "anls_eval", "score", *options]
        return subprocess.run(command, check=False).returncode  # noqa: S603 - what the user asked for


if __name__ == "__main__":
    sys.exit(main())
