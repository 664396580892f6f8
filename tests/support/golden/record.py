"""Record what the code of today gives: ``python -m golden.record`` with ``PYTHONPATH=.:tests/support``."""

import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from places import DATA

from golden.cases import SECTIONS
from golden.plain import plain, shortened

FOLDER = DATA / "golden"


def outputs(section: str, *, in_full: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield every output of a section with its key: long lists by their hashes, unless asked for in full."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key, value in SECTIONS[section](Path(folder)):
            yield key, plain(value) if in_full else shortened(plain(value))


def record(folder: Path, *, in_full: bool = False) -> None:
    """Write one JSON Lines file for each section."""
    folder.mkdir(parents=True, exist_ok=True)
    for section in SECTIONS:
        lines = (json.dumps({"key": key, "value": value}) for key, value in outputs(section, in_full=in_full))
        (folder / f"{section}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    # With a folder, everything is written there in full, to find out what is behind another hash.
    if sys.argv[1:]:
        record(Path(sys.argv[1]), in_full=True)
    else:
        record(FOLDER)
