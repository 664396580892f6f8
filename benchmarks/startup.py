"""Time what users wait for before anything is scored: imports, the help text, the first page of the app.

Run ``python benchmarks/startup.py [--rounds N]``.
"""

import functools
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from benchmarks.measuring import ROOT, Contender, arguments, positive, workload
from benchmarks.render import section_text
from benchmarks.results import FLOOR, Section, at_most

ROUNDS = 5
EVALUATE, OURS, HELP, PAGE = "import evaluate", "import anls_eval", "anls --help", "the app's first page"
LIBRARIES, CALL = "import numpy, pyarrow, rapidfuzz", "import anls_eval and score one answer in a batch"
SCORE, EXPLAIN, LOAD = "anls score of 1,000 questions", "anls explain of one answer", "evaluate.load and one question"
PREDICTIONS, REFERENCES = (f"examples/docvqa/{name}.json" for name in ("pred_qwen2_vl_7b_instruct", "references"))
# A small process starts each: the peak that the system reports for a process includes that of the one that started it.
STARTER = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
PATIENCE = 120  # seconds until an app that does not answer is an error


def command(*arguments: str) -> tuple[float, float]:
    """The seconds of a process of Python, and its peak in megabytes."""
    starter = [sys.executable, "-S", "-c", STARTER, sys.executable, *arguments]
    done = subprocess.run(starter, cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak / (2**20 if sys.platform == "darwin" else 2**10)


def first_page() -> tuple[float, None]:
    """From the start of the app until its page is there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"GRADIO_SERVER_PORT": str(port), "HOME": home, "TMPDIR": home}
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while not answers(f"http://127.0.0.1:{port}/"):
                if process.poll() is not None or time.perf_counter() - start > PATIENCE:
                    sys.exit("the app does not start: run `make app`")
                time.sleep(0.02)
            return time.perf_counter() - start, None
        finally:
            process.terminate()
            process.wait()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address) as page:  # noqa: S310
            return bool(page.read())
    except (urllib.error.URLError, ConnectionError):
        return False


def startup_section(rounds: int = ROUNDS) -> Section:
    commands = {
        FLOOR: ["-c", "pass"],
        EVALUATE: ["-c", "import evaluate"],
        OURS: ["-c", "import anls_eval"],
        LIBRARIES: ["-c", LIBRARIES],
        CALL: ["-c", "from anls_eval import anls_scores; anls_scores(['CocaCola'], [['Coca Cola']])"],
        HELP: ["-m", "anls_eval", "--help"],
        SCORE: ["-m", "anls_eval", "score", PREDICTIONS, "-r", REFERENCES, "--json"],
        EXPLAIN: ["-m", "anls_eval", "explain", "CocaCola", "Coca Cola"],
        LOAD: ["-c", "import evaluate; evaluate.load('./anls.py').compute(predictions=['a'], references=[['a']])"],
    }
    contenders = [Contender(name, functools.partial(command, *own), rounds) for name, own in commands.items()]
    found = workload(
        "from the start of the process",
        1,
        [*contenders, Contender(PAGE, first_page, rounds)],
        more=lambda peak: {"megabytes": peak},
    )
    return Section(
        "Import and start",
        "Processes that do nothing else, with the peak of their memory. The floor is Python itself.",
        "s",
        (found,),
        ((OURS, EVALUATE), (CALL, LIBRARIES), (SCORE, LIBRARIES), (EXPLAIN, LIBRARIES)),
        (
            at_most(CALL, found.timings[CALL].median, "s", 0.45, 0.35),
            at_most(CALL, found.timings[CALL].megabytes or 0.0, "MB", 95, 75),
            at_most(SCORE, found.timings[SCORE].median, "s", 0.9, 0.6),
            at_most(EXPLAIN, found.timings[EXPLAIN].median, "s", 0.6, 0.45),
            at_most(HELP, found.timings[HELP].median, "s", 0.5),
            at_most(PAGE, found.timings[PAGE].median, "s", 3),
        ),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=positive, default=ROUNDS, help="how often each starts")
    print(section_text(startup_section(parser.parse_args().rounds)))


if __name__ == "__main__":
    main()
