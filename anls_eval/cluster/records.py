"""What is kept of a finished task: its totals, and the size and checksum of each file that it wrote."""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from anls_eval.files.errors import OutputError
from anls_eval.files.write import Written, whole_file
from anls_eval.limits import raise_limit
from anls_eval.opening import open_regular

_BLOCK = 1 << 20

MISSING = "is missing"
"""The end of what `Record.fault` says of a file that is not there."""


class DamagedRecordError(OutputError):
    """A record is not what was written: it is cut off, empty, altered, that of another task, or no regular file."""

    def __init__(self, path: Path, fault: str) -> None:
        super().__init__(str(path), f"{fault}.")
        self.fault = fault


def _fault_of(error: Exception | None = None) -> str:
    """Return what is wrong with a file that is there, and that perhaps nobody may read."""
    return f"cannot be read ({error.strerror})" if isinstance(error, PermissionError) else "is damaged"


@dataclasses.dataclass(frozen=True)
class Record:
    """What is known about a finished task."""

    name: str  # of the task, so that a record in place of another one is noticed
    identity: str  # of its inputs and options
    totals: str  # as JSON
    files: Mapping[str, Sequence[int]]  # as they were `Written`, by their names in the output folder

    def fault(self, folder: Path) -> str:
        """Return what is wrong with the files in the output folder; empty if they are as they were written."""
        for name, state in self.files.items():
            try:
                path = folder / name
                is_whole = path.stat().st_size == state[0] and checksum(path) == state[1]
            except FileNotFoundError:
                return f"{name} {MISSING}"
            except OSError as error:
                return f"{name} {_fault_of(error)}"
            if not is_whole:
                return f"{name} {_fault_of()}"
        return ""


def unreadable(path: Path, error: Exception) -> OutputError:
    """Return the error of a file that this run has written and cannot read; raise LimitError for lack of anything."""
    raise_limit(error)
    reason = "it is damaged" if isinstance(error, (ValueError, EOFError)) else getattr(error, "strerror", None) or error
    return OutputError(str(path), f"cannot be read back: {reason}.")


def write_record(path: Path, identity: str, totals: str, folder: Path, files: Mapping[Path, Written]) -> None:
    """Write the record of a task that has written these files to the output folder."""
    states = {str(file.relative_to(folder)): written for file, written in files.items()}
    text = json.dumps(dataclasses.asdict(Record(path.stem, identity, totals, states)))
    with whole_file(path) as unfinished:
        unfinished.write_text(json.dumps({"checksum": zlib.crc32(text.encode()), "record": text}), encoding="utf-8")


def read_record(path: Path) -> Record | None:
    """Return a record, or None if there is none; raise DamagedRecordError if it is damaged."""
    try:
        with open_regular(path) as stream:
            own = json.loads(stream.read().decode())
        if zlib.crc32(own["record"].encode()) == own["checksum"]:
            record = Record(**json.loads(own["record"]))
            if record.name == path.stem:
                return record
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise_limit(error)
        raise DamagedRecordError(path, _fault_of(error)) from None
    raise DamagedRecordError(path, _fault_of())


def checksum(*paths: str | Path) -> int:
    """Return the CRC-32 of a file or of several, which tells damage and other contents apart, but not a forgery."""
    found = 0
    for path in paths:
        with open_regular(path) as stream:
            while block := stream.read(_BLOCK):
                found = zlib.crc32(block, found)
    return found
