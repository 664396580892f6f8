"""Random trees, of few texts and keys so that they meet, for hypothesis."""

from typing import Any

from hypothesis import strategies as st

LEAVES = st.sampled_from(
    ["x", "y", "totel", "total", "tote", "A", "a", "", " ", "12", "2024-01-02", None, 12, 1.5, True]
)
KEYS = st.sampled_from("abc")


def trees(with_options: bool, filled: bool = False) -> st.SearchStrategy[Any]:
    least = int(filled)

    def containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        found: st.SearchStrategy[Any] = st.lists(children, min_size=least, max_size=4)
        found |= st.dictionaries(KEYS, children, min_size=least, max_size=3)
        return found | st.lists(children, min_size=1, max_size=3).map(tuple) if with_options else found

    return st.recursive(
        LEAVES.filter(lambda leaf: leaf not in (None, "")) if filled else LEAVES, containers, max_leaves=12
    )


REFERENCES, PREDICTIONS = trees(with_options=True), trees(with_options=False)
