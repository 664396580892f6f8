"""The files of a run divided into what its tasks read: whole files, rows of large ones, groups of documents."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from anls_eval.cluster.parts import Job, Piece
from anls_eval.files.documents import document_id
from anls_eval.opening import open_regular
from anls_eval.submission.passes import SIDES

Files = tuple[list[str], list[str]]
Pair = tuple[Piece, Piece]

_FEW = 64  # files of a side, each of which is opened to see whether it can be divided
_LARGE_BYTES = 32 << 20  # of a file that is opened for that where there are more
_PARQUET = b"PAR1"
_PIECE_ROWS = 1 << 18  # at least, of the parts of such a file
_DOCUMENTS = 64  # files of one document each that are one part


def paired_pieces(job: Job, files: Files) -> list[Pair] | None:
    """Pair files in their order, large ones in pieces; None if their numbers differ."""
    if any(job.documents):
        predictions, references = (pieces_of(job, side, paths) for side, paths in zip(SIDES, files, strict=True))
        return list(zip(predictions, references, strict=True)) if len(predictions) == len(references) else None
    if len(files[0]) != len(files[1]):
        return None
    return [pair for paths in zip(*files, strict=True) for pair in _divided(job, paths, len(files[0]))]


def _divided(job: Job, paths: tuple[str, str], files: int) -> list[Pair]:
    """Pair two files piece by piece, divided at the row groups of the one with the larger ones."""
    whole = [(Piece((paths[0],)), Piece((paths[1],)))]
    if not any(_can_be_large(path, files) for path in paths):
        return whole
    cuts = [_cuts(job, side, path) for side, path in zip(SIDES, paths, strict=True)]
    if not all(cuts) or cuts[0][-1] != cuts[1][-1]:
        return whole
    rows = _stretches(min(cuts, key=len))
    return [(Piece((paths[0],), own), Piece((paths[1],), own)) for own in rows]


def pieces_of(job: Job, side: str, paths: Sequence[str]) -> list[Piece]:
    """Divide the files of one side into pieces: large files by rows, documents into groups of files."""
    if job.documents[SIDES.index(side)]:
        ordered = sorted(paths, key=document_id)
        return [Piece(tuple(ordered[start : start + _DOCUMENTS])) for start in range(0, len(paths), _DOCUMENTS)]
    return [
        Piece((path,), own)
        for path in paths
        for own in _stretches(_cuts(job, side, path) if _can_be_large(path, len(paths)) else ())
    ]


def _cuts(job: Job, side: str, path: str) -> tuple[int, ...]:
    """Return the rows at which a Parquet file can be divided; empty if it cannot be divided or read."""
    try:
        with open_regular(path) as stream:
            is_parquet = stream.read(len(_PARQUET)) == _PARQUET
        return job.open(side, Piece((path,))).cuts if is_parquet else ()
    except (OSError, ValueError):
        return ()


def _can_be_large(path: str, files: int) -> bool:
    """Return whether it is worth opening one of so many files to divide it."""
    try:
        return files <= _FEW or Path(path).stat().st_size >= _LARGE_BYTES
    except OSError:
        return False


def _stretches(cuts: Sequence[int]) -> list[tuple[int, int] | None]:
    """Return the range of rows of each piece of a file with these cuts; None stands for the whole file."""
    bounds = [0]
    for cut in cuts:
        if cut - bounds[-1] >= _PIECE_ROWS:
            bounds.append(cut)
    if len(bounds) <= 2:
        return [None]
    bounds[-1] = cuts[-1]
    return list(itertools.pairwise(bounds))
