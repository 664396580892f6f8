"""Each step that finds an answer by its marks, sentence by sentence."""

import pytest
from any_texts import ANY_TEXT
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.extract.hints import STEPS_TO_TRY, changed_by_steps, steps_in
from anls_eval.extract.marks import MARK_STEPS
from anls_eval.extract.steps import EXTRACT_STEPS, extracted

CASES = {
    "think": [
        ("<think>so</think> Oslo", "Oslo"),
        ("a</think>b</think> c", "c"),  # the last one
        ("<THINK>so</Think>Oslo", "Oslo"),
        ("<thinking>so</thinking>\nOslo\n", "Oslo"),
        ("◁think▷so◁/think▷ Oslo", "Oslo"),
        ("[THINK]so[/THINK]Oslo", "Oslo"),
        ("so</think>Oslo", "Oslo"),  # without an opening mark
        ("<think>so", ""),  # no answer yet
        ("<think>a</think> Oslo <think>b", ""),
        ("<think>a</think>", ""),
        ("Oslo", "Oslo"),
        ("a < think > b", "a < think > b"),
    ],
    "answer_tag": [
        ("x <answer> Oslo\n</answer> y", "Oslo"),
        ("<answer>a</answer><answer>b</answer>", "b"),
        ("<ANSWER>Oslo</Answer>", "Oslo"),
        ("<answer>a\nb</answer>", "a\nb"),
        ("<answer>a</answer><answer>b", "a"),  # the last closed one
        ("<answer>a<answer>b", "b"),  # none is closed
        ("<answer>a<answer>b</answer>", "b"),
        ("<answer></answer>", ""),
        ("<answer>**a**</answer>", "**a**"),
        ("Oslo</answer>", "Oslo</answer>"),
    ],
    "answer_line": [
        ("It is so.\nAnswer: Oslo\nBye", "Oslo"),
        ("Answer: a\nANSWER: b", "b"),
        ("answer : Oslo", "Oslo"),
        ("Answer：東京", "東京"),
        ("**Answer:** Oslo", "Oslo"),
        ("**Answer**: Oslo", "Oslo"),
        ("__Answer__: Oslo", "Oslo"),
        ("### Answer: Oslo", "Oslo"),
        ("Answer #: Oslo", "Oslo"),
        ("**Answer: Oslo**", "Oslo"),
        ("**Final Answer:** Oslo", "Oslo"),
        ("**Final Answer: Oslo**", "Oslo"),
        ("Answer: **Oslo**", "Oslo"),
        ("Answer: `Oslo`", "Oslo"),
        ("Answer: __Oslo__", "Oslo"),
        ("Answer: 3 ** 4", "3 ** 4"),
        ("Answer:\n\n  Oslo\nBye", "Oslo"),  # the next line that is not blank
        ("**Answer:**\nOslo", "Oslo"),
        ("Answer:", ""),
        ("(Answer: Oslo", "Oslo"),
        ("_Answer: Oslo", "Oslo"),
        ("my_answer: Oslo", "my_answer: Oslo"),  # not at the start of a word
        ("manswer: Oslo", "manswer: Oslo"),
        ("answers: Oslo", "answers: Oslo"),
        ("the answer Oslo", "the answer Oslo"),
        ("Answer\n: Oslo", "Answer\n: Oslo"),
    ],
    "final_answer": [
        ("Final answer: Oslo", "Oslo"),
        ("FINAL ANSWER: Oslo.", "Oslo"),  # one final dot off
        ("Final answer: e.g..", "e.g."),
        ("The answer is Oslo.", "Oslo"),
        ("The final answer is: Oslo", "Oslo"),
        ("the final  answer is Oslo", "Oslo"),
        ("Final answer is Oslo", "Oslo"),
        ("**Final Answer**: Oslo", "Oslo"),
        ("**Final Answer:** Oslo", "Oslo"),
        ("The answer is **Oslo**.", "Oslo"),
        ("The answer is **Oslo.**", "Oslo"),
        ("The answer is:\n\nOslo", "Oslo"),
        ("The answer is a.\nThe answer is b.", "b"),
        ("The answer: Oslo", "The answer: Oslo"),
        ("The answer island", "The answer island"),
        ("Semifinal answer: Oslo", "Semifinal answer: Oslo"),
        ("bathe answer is Oslo", "bathe answer is Oslo"),
    ],
    "boxed": [
        (r"So \boxed{42}.", "42"),
        (r"\boxed{1} \boxed{2}", "2"),
        (r"\boxed{1} \boxed{2", "1"),  # the last with balanced braces
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{a \boxed{b}}", "b"),
        (r"\boxed {42}", "42"),
        (r"\boxed{\text{ New York }}", "New York"),
        (r"\boxed{\mathrm{cm}}", "cm"),
        (r"\boxed{\text{a} b}", r"\text{a} b"),  # not around all of it
        (r"\boxed{\text{a} and \text{b}}", r"\text{a} and \text{b}"),
        (r"\boxed{\text{a \{ b}}", r"a \{ b"),
        (r"\boxed{\$ 40 \& 5\%}", "$ 40 & 5%"),
        (r"\boxed{ \{1\} }", r"\{1\}"),
        (r"\boxed{}", ""),
        (r"\boxed{1", r"\boxed{1"),
        ("42", "42"),
    ],
    "fence": [
        ("Here:\n```\nOslo\n```\nBye", "Oslo"),
        ("```json\n{}\n```", "{}"),
        ("```c++ \nx\n```", "x"),
        ("```a\n1\n```\n```b\n2\n```", "2"),
        ("```\nOslo", "Oslo"),  # not closed
        ("```Oslo```", "Oslo"),
        ("```two words\nOslo```", "two words\nOslo"),
        ("`Oslo`", "`Oslo`"),
    ],
    "markdown": [
        ("**Oslo**", "Oslo"),
        ("__Oslo__", "Oslo"),
        ("`Oslo`", "Oslo"),
        ("```Oslo```", "Oslo"),
        ("- Oslo", "Oslo"),
        ("* Oslo", "Oslo"),
        ("# Oslo", "Oslo"),
        ("- **Oslo**", "Oslo"),
        (" **`Oslo`** ", "Oslo"),
        ("**a** and **b**", "**a** and **b**"),  # not around all of it
        ("`a` or `b`", "`a` or `b`"),
        ("-5", "-5"),
        ("#1", "#1"),
        ("****", "****"),
        ("a - b", "a - b"),
    ],
}


@pytest.mark.parametrize(("name", "text", "expected"), [(name, *case) for name, own in CASES.items() for case in own])
def test_step(name: str, text: str, expected: str) -> None:
    assert extracted(text, (name,)) == expected


def test_every_step_has_cases() -> None:
    assert list(CASES) == list(MARK_STEPS)


def test_steps_follow_one_another() -> None:
    text = "<think>Answer: no</think>\n**Answer:** \\boxed{\\text{Oslo}}"
    assert extracted(text, ("think", "answer_line", "boxed")) == "Oslo"
    assert steps_in(text) == ("think", "answer_line", "boxed")


PIECES = [
    "<think>", "</think>", "<answer>", "</answer>", "answer", "Answer:", "ANSWER :", "final", "the", "is",
    "\\boxed{", "\\text{", "{", "}", "\\", "```", "`", "**", "__", "- ",
    "#", "[", "]", '"a":', '"', "1", "1.", ",", " ", "\n", "：",
]  # fmt: skip
MARKED = st.lists(st.sampled_from(PIECES) | ANY_TEXT, max_size=12).map("".join)


@given(MARKED)
def test_no_step_raises(text: str) -> None:
    for name, step in EXTRACT_STEPS.items():
        found = step(text)
        assert isinstance(found, str) or name in ("inspect_line", "inspect_first", "json"), name


@given(MARKED)
def test_what_a_step_takes_out_is_stripped_and_part_of_the_text(text: str) -> None:
    for name in ("think", "answer_tag", "answer_line", "final_answer", "fence", "markdown"):
        found = MARK_STEPS[name](text)
        assert found is None or (found == found.strip() and found in text), name


@given(MARKED)
def test_chains_of_two_are_what_both_steps_give(text: str) -> None:
    text = text.strip()
    expected = {names: extracted(text, names) for names in STEPS_TO_TRY}
    assert changed_by_steps(text) == {names: found for names, found in expected.items() if found != text}


HOSTILE = [*PIECES, "answer" + " " * 200_000, "\\boxed" + " " * 200_000, "```" + " " * 200_000, '{"a":', "[1,", "[[1],"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_texts_take_linear_time(piece: str) -> None:
    """With time that grows with the square of the length, each of these would take many minutes."""
    text = (piece * (200_000 // len(piece) + 1))[:200_000]
    for name, step in EXTRACT_STEPS.items():
        found = step(text)
        assert found is None or len(str(found)) <= len(text), name
