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
PATIENCE = 120  # seconds until an app that does not answer is an error


def command(*arguments: str) -> tuple[float, None]:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start, None


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
        HELP: ["-m", "anls_eval", "--help"],
    }
    contenders = [Contender(name, functools.partial(command, *own), rounds) for name, own in commands.items()]
    found = workload("from the start of the process", 1, [*contenders, Contender(PAGE, first_page, rounds)])
    return Section(
        "Import and start",
        "Processes that do nothing else. The floor is Python itself.",
        "s",
        (found,),
        ((OURS, EVALUATE),),
        (
            at_most(OURS, found.ratio(OURS, EVALUATE) or 0.0, f"times {EVALUATE}", 1.3),
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
