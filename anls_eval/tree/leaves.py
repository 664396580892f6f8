"""The similarities of many leaves, each beside each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from anls_eval.rules.protocol import Protocol
from anls_eval.text.similarity import edit_costs, kept_similarity, max_kept_distance
from anls_eval.tree.matching import MATRIX_CELLS
from anls_eval.tree.ratios import Matrix

_CACHED_CELLS = 15_000  # of temporary matrices: small enough for memory that the process already has


def similarities_of_leaves(g: Sequence[str], p: Sequence[str], rules: Protocol) -> Matrix:
    """Return the similarity of each text of g to each of p, after their steps; each different text is compared once."""
    rows, columns = _numbered(g), _numbered(p)
    texts, others = list(rows), list(columns)
    s = np.empty((len(rows), len(columns)))
    sizes, other_sizes = np.array(list(map(len, texts))), np.array(list(map(len, others)))
    block, few = (max(1, cells // len(columns)) for cells in (MATRIX_CELLS, _CACHED_CELLS))
    for start in range(0, len(rows), block):
        distances = cdist(
            texts[start : start + block],
            others,
            scorer=Levenshtein.distance,
            scorer_kwargs={"weights": edit_costs(rules)},
            score_cutoff=max_kept_distance(max(map(len, (*texts, *others))), rules),
            dtype=np.int32,
        )
        for at in range(0, len(distances), few):
            part = distances[at : at + few].astype(np.int64)
            longest = np.maximum.outer(sizes[start + at : start + at + len(part)], other_sizes)
            s[start + at : start + at + len(part)] = kept_similarity(part, longest, rules)
    if len(rows) < len(g) or len(columns) < len(p):
        s = s[np.ix_([rows[text] for text in g], [columns[text] for text in p])]
    return s


def _numbered(values: Iterable[str]) -> dict[str, int]:
    return {value: number for number, value in enumerate(dict.fromkeys(values))}
