"""Time PyPI's `anls` in a separate process.

Reads ``{"predictions": [...], "answers": [[...], ...]}`` from standard input. Writes to standard output, as JSON, the
file that `anls` was imported from, the seconds of scoring alone, and the score of each question.
"""

import json
import sys
import time

import anls


def main() -> None:
    questions = json.load(sys.stdin)
    pairs = list(zip(questions["predictions"], questions["answers"], strict=True))
    start = time.perf_counter()
    scores = [anls.anls_score(prediction, answers) for prediction, answers in pairs]
    seconds = time.perf_counter() - start
    json.dump({"file": anls.__file__, "seconds": seconds, "scores": scores}, sys.stdout)


if __name__ == "__main__":
    main()
