"""Reproduce a published row of KIEval: Qwen2.5-VL 72B on the receipts of CORD.

Unpack ``QwenVL_72B_Sample/QwenVL_72B_csv.tar.gz`` of <https://github.com/UpstageAI/KIEval> (commit 95914a4) and run
``python examples/kieval_cord.py QwenVL_72B_csv``. Its ``result.md`` reports an entity F1 of 0.7707 and an aligned score
of 0.6986. Nothing is downloaded, and the files are not part of this repository.
"""

import argparse
from pathlib import Path
from typing import Any

from anls_eval import leaderboard_figures


def read_document(path: Path) -> dict[str, Any]:
    """Read a document from KIEval's tables: groups under their number and keys, other entities a line each."""
    document: dict[str, Any] = {"groups": {}, "entities": {}}
    for block in path.read_text(encoding="utf-8").strip("\n").split("\n\n"):
        first, *lines = block.split("\n")
        if first[:1].isdigit():
            keys, *rows = (line.split("\t") for line in lines)
            items = [dict(zip(keys, row, strict=True)) for row in rows]
            document["groups"].setdefault(first[0], []).extend(items)
        else:
            for line in filter(None, lines):
                key, _, value = line.partition("\t")
                document["entities"].setdefault(key, []).append(value)
    return document


def main() -> None:
    """Print the figures of KIEval that its result.md reports."""
    parser = argparse.ArgumentParser(description="Reproduce a published row of KIEval.")
    parser.add_argument("folder", type=Path, help="the folder with the tables in gt/ and pred/")
    folder = parser.parse_args().folder
    names = sorted(path.name for path in (folder / "gt").glob("*.csv"))
    predictions, references = ([read_document(folder / side / name) for name in names] for side in ("pred", "gt"))
    for protocol in ("kieval_entity_f1", "kieval_aligned"):
        score = leaderboard_figures(predictions, references, protocol=protocol)["score"]
        print(f"{protocol}  {score:.4f}  n={len(names)}")


if __name__ == "__main__":
    main()
