"""Texts, questions and protocols of all kinds, for hypothesis."""

import dataclasses

from hypothesis import strategies as st
from reference import TEXT_PROTOCOLS

from anls_eval.rules.protocol import Protocol
from anls_eval.rules.steps import LENGTHS, STEPS

# Exotic whitespace, case pairs of other lengths, ligatures, combining marks, lone surrogates.
SPECIAL = [
    *" \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u2028\u200b\u3000\ufeff",
    *"İIiıßẞſKÅςσΣǅŉﬁﬀ",
    "h\u0331",
    "H\u0331",
    "\u1e96",
    "e\u0301",
    "\xe9",
    "\u1100\u1161",
    "\ud800",
    "\udfff",
    "\U0001f469\u200d\U0001f467",
    "\x00",
    *".,!%$-_",
    "  ",
    "none",
    "None",
    "abc",
    "ABC",
]
ANY_TEXT = (
    st.lists(st.sampled_from(SPECIAL) | st.sampled_from("abAB .") | st.characters(), max_size=8).map("".join)
    | st.text("ab ", max_size=12)
    | st.text(st.characters(codec="ascii"), max_size=10)
)
QUESTION = st.one_of(
    st.tuples(st.none() | ANY_TEXT, st.lists(ANY_TEXT, min_size=1, max_size=4)),
    # Most pairs of random texts have nothing in common: these do.
    ANY_TEXT.flatmap(lambda text: st.tuples(st.just(text), st.lists(edits(text), min_size=1, max_size=3))),
)


def edits(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(
        [text, text.upper(), text.lower(), f" {text}\n", text + "x", text[1:], text[::-1], text.replace(" ", "  ")]
    )


STEP_TUPLES = st.lists(st.sampled_from(sorted(STEPS)), max_size=4).map(tuple)
CUSTOM = st.builds(
    Protocol,
    name=st.just("custom"),
    prediction_steps=STEP_TUPLES,
    answer_steps=STEP_TUPLES,
    prediction_length=st.sampled_from(sorted(LENGTHS)),
    answer_length=st.sampled_from(sorted(LENGTHS)),
    keep=st.sampled_from([">=", ">"]),
    threshold=st.sampled_from([0, 0.1, 0.5, 0.8, 0.9, 1]),
    both_empty=st.sampled_from([0, 1]),
    zero_predictions=st.sampled_from([(), ("none",), ("",)]),
    substitution_cost=st.sampled_from([0, 1, 2, 3]),
) | STEP_TUPLES.flatmap(
    lambda steps: st.sampled_from(
        [dataclasses.replace(rules, prediction_steps=steps, answer_steps=steps) for rules in TEXT_PROTOCOLS.values()]
    )
)
