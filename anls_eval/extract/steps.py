"""Take the answer out of predictions by named steps, before anything else is done with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from anls_eval.errors import AnlsError, check_choice
from anls_eval.extract.harness import HARNESS_STEPS
from anls_eval.extract.json_in_text import json_in_text
from anls_eval.extract.marks import MARK_STEPS
from anls_eval.types import Extract

JSON_STEP = "json"


def _or_unchanged(step: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a step that leaves a text in which it finds nothing as it is."""

    def extract(text: str) -> Any:
        found = step(text)
        return text if found is None else found

    return extract


EXTRACT_STEPS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        **{name: _or_unchanged(step) for name, step in MARK_STEPS.items()},
        **HARNESS_STEPS,
        JSON_STEP: _or_unchanged(json_in_text),
    }
)
"""The steps that take an answer out of a text, by the name that protocols, options and signatures use."""


EXTRACT_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "think": "what follows the last thought",
        "answer_tag": "what is in the last <answer> tag",
        "answer_line": 'what follows the last "Answer:" on its line',
        "final_answer": 'what follows the last "Final answer:" or "The answer is" on its line',
        "boxed": "what is in the last \\boxed{}",
        "fence": "what is in the last code fence",
        "markdown": "the text without Markdown around it",
        "evalscope_answer": 'what follows the last "ANSWER:" in capitals, as in evalscope',
        "inspect_line": 'what follows "ANSWER:" in the last line, as in inspect_evals; without it no answer',
        "inspect_first": 'what follows the first "ANSWER:", as in older inspect_evals; without it no answer',
        "lmms_reasoning": "what is in the first <answer> tag, the last box, or the last number, as in lmms-eval",
        "lmms_strip_think": "what is outside of thoughts, as in lmms-eval",
        JSON_STEP: "the last JSON object or array of objects",
    }
)
"""What each step takes out."""


def read_extract(extract: Extract) -> tuple[str, ...] | None:
    """Return the names of steps in any form; None for None, and no steps for "none"."""
    if extract is None:
        return None
    if isinstance(extract, str):
        extract = [name.strip() for name in extract.split(",")]
    if not isinstance(extract, Iterable) or isinstance(extract, (bytes, Mapping)):
        check_choice("extract", extract, ("none", *EXTRACT_STEPS))
    names = tuple(extract)
    if names in (("none",), ("",)):
        return ()
    for name in names:
        check_choice("extract", name, tuple(EXTRACT_STEPS))
    return names


def check_extract(names: tuple[str, ...], of_trees: bool) -> None:
    """Refuse steps that a protocol cannot have."""
    for name in names:
        check_choice("a step of extract", name, tuple(EXTRACT_STEPS))
    if JSON_STEP in names and not of_trees:
        problem = "json takes a document out of a text, and this protocol compares texts. Use it with anls_star"
        raise AnlsError(problem, option="extract", value=",".join(names))
    if JSON_STEP in names[:-1]:
        problem = "json returns a document, which no step can follow; expected it last"
        raise AnlsError(problem, option="extract", value=",".join(names))


def is_document(text: str, names: tuple[str, ...]) -> bool:
    """Return whether the steps take a document out of a text."""
    return JSON_STEP in names and not isinstance(extracted(text, names), str)


def extracted(prediction: Any, names: tuple[str, ...]) -> Any:
    """Return the answer in one prediction; whatever is not a text is returned as it is."""
    for name in names:
        if not isinstance(prediction, str):
            break
        prediction = EXTRACT_STEPS[name](prediction)
    return prediction
