"""What docs/protocols says of each family of benchmarks beside its registry entries: formula, example, papers."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from anls_eval.leaderboards import leaderboard_figures


class Example(NamedTuple):
    """An example worked by hand; the figures behind it are computed when the page is written."""

    protocol: str
    prediction: Any
    reference: Any
    working: str  # ends in the value that must come out
    value: float
    answer_type: str | None = None
    options: dict[str, Any] | None = None

    def text(self) -> str:
        """Return the example as Markdown; fail if the value worked out is not the one computed."""
        types = None if self.answer_type is None else [self.answer_type]
        found = leaderboard_figures(
            [self.prediction], [self.reference], protocol=self.protocol, answer_types=types, options=self.options
        )
        score = found["score"]
        if score is None or abs(score - self.value) > 5e-5:
            raise ValueError(f"{self.protocol}: the example gives {score}, not {self.value}")
        shown = {"prediction": self.prediction, "reference": self.reference, "answer_type": self.answer_type}
        lines = [
            f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in shown.items() if value is not None
        ]
        return "\n".join(["```text", *lines, "```", "", f"`{self.protocol}`: {self.working} = **{self.value:.4f}**."])


class Family(NamedTuple):
    """One page."""

    title: str  # as in the registry
    formula: str
    examples: tuple[Example, ...]
    bugs: tuple[str, ...]  # that published numbers contain
    papers: str
    options: Mapping[str, dict[str, Any]] = MappingProxyType({})  # protocols with the content of a file for --options
    published: str = ""  # a published row that an example computes from published predictions


_RECEIPT = {"menu": [{"nm": "Latte", "price": "5"}, {"nm": "Tea", "price": "3"}], "total": "8"}
_READ = {"menu": [{"nm": "Latte", "price": "5"}, {"nm": "Tee", "price": "3"}], "total": "8"}

FAMILIES = (
    Family(
        "Donut",
        """F1 = equal / (equal + others / 2), where `equal` is the number of fields (path of keys, text) that
both documents have, as multisets, and `others` all other fields of both sides; both are summed over
all documents.

Tree accuracy = max(0, 1 - TED(prediction, reference) / TED(empty, reference)), where TED is the exact edit distance
of ordered trees (Zhang and Shasha, 1989). To insert or remove a text costs its length, a key or an object 1. To
change a text into another costs their Levenshtein distance, into a key 1 + its length, a key into another 1.""",
        (
            Example(
                "donut_f1",
                _READ,
                _RECEIPT,
                "four of the five fields of each side are equal, and `menu.nm` Tee and Tea are two "
                "others: 4 / (4 + 2 / 2)",
                0.8,
            ),
            Example(
                "donut_ted",
                _READ,
                _RECEIPT,
                "the empty document needs 8 keys and objects and 11 characters, 19 in all; Tee becomes "
                "Tea for 1: 1 - 1 / 19",
                0.9474,
            ),
        ),
        (
            "A list with anything but objects loses its objects, inner lists, null, true and false.",
            'The key "a.b" equals a key b inside an object a.',
            "Texts and keys that contain <leaf> are taken for leaves, without it.",
            "Surplus documents of the longer list are dropped without a word.",
        ),
        "Kim et al., OCR-free Document Understanding Transformer, ECCV 2022, arXiv:2111.15664, and most "
        "papers on CORD, "
        "SROIE and train tickets that follow it.",
    ),
    Family(
        "CC-OCR",
        """The F1 and the tree accuracy of [Donut](donut.md), after texts have been made alike: F1 = equal /
(equal + others / 2 + 1e-6), accuracy = sum of the documents / (number + 1e-6). lmms-eval computes
both for each subset, and divides their sum by (number of subsets + 1e-9).

CC-OCR V2 compares fields in the same way, and scores answers by containment
if they are short, by similarity if not.""",
        (
            Example(
                "cc_ocr_kie_f1",
                '```json\n{"a": "x", "b": "y"}\n```',
                '{"a": "x", "b": "z"}',
                "one field is equal, two are others: 1 / (1 + 2 / 2 + 0.000001)",
                0.5,
            ),
            Example(
                "cc_ocr_v2_qa",
                "one two three four",
                "one two three four five",
                "five words are long; 5 of 23 characters are missing: 1 - 5 / 23",
                0.7826,
            ),
        ),
        (
            "A perfect document has an F1 below 1, and so has a perfect data set.",
            "VLMEvalKit leaves texts that stand in a list as they are; lmms-eval makes them alike too.",
            "evalscope's cc_ocr_v2_kie is the mean of the documents' F1, CC-OCR V2's own code pools all "
            "fields: two numbers "
            "under one name.",
            "In CC-OCR V2's own code a long Chinese answer that is the only one always scores 0: the "
            "branch is missing.",
        ),
        "Yang et al., CC-OCR, arXiv:2412.02210; CC-OCR V2, arXiv:2605.03903; tables of models that use VLMEvalKit, "
        "lmms-eval or evalscope.",
        {"lmms_cc_ocr_kie_f1": {"subset": "dataset"}},
    ),
    Family(
        "ChartQA",
        """Relaxed accuracy = the share of answers that are right: a number within 5 % of the answer, |p - a| /
|a| <= 0.05, or a text that is equal without case. ChartQAPro takes the mean over the items of
lists, compares texts by `pypi_anls`, and requires years (by a flag of the data set) to be equal.""",
        (
            Example("chartqa_lmms", "12.6", "12", "|12.6 - 12| / 12 = 0.05, which still counts", 1.0),
            Example(
                "chartqapro",
                "['red', 'blue']",
                ["[red, green]"],
                "red is equal, blue is nothing like green: (1 + 0) / 2",
                0.5,
                "Factoid",
                {"year": [["NO"]]},
            ),
        ),
        (
            "57 % is 0.57, so that it is wrong where the answer is 57.",
            "An answer of 0 is compared as text: 0.0 is wrong.",
            "2010 is within 5 % of 2011: years count as right without ChartQAPro's flag.",
            "ChartQAPro reads [United States, 12] as UnitedStates and 12: each word gets quotes of its own.",
            "ChartQAPro's code does not use its rule that multiple choice must be equal: Option A for "
            "Option B gives 0.875.",
        ),
        "Masry et al., ChartQA, ACL Findings 2022, arXiv:2203.10244; ChartQAPro, arXiv:2504.05506; "
        "nearly every report of a "
        "vision-language model.",
        {"chartqapro": {"year": "Year"}},
    ),
    Family(
        "LongDocURL",
        """Generalized accuracy = the mean of the questions' scores, each by its answer type. F1 = 2PR / (P +
R), with the points on answerable questions divided by their number (R), and by the number of
answered questions (P).""",
        (
            Example(
                "longdocurl_full",
                ["Asia"],
                ["Asia", "Europe"],
                "Asia is found, nothing is like Europe, and there are no more predictions than answers: (1 + 0) / 2",
                0.5,
                "List",
            ),
        ),
        (
            "Units are taken off as sets of letters: room becomes roo, massacres becomes m.",
            "An answer in tags is evaluated as Python: 2019-2020 becomes -1.",
            "One predicted item may serve several answers.",
        ),
        "Deng et al., LongDocURL, ACL 2025, arXiv:2412.18424. The string variant alone is `longdocurl`.",
    ),
    Family(
        "DocVQA from whole outputs",
        """The answer is taken out of the output; then it is scored as by `rrc` or `inspect_evals`.""",
        (
            Example(
                "evalscope_docvqa",
                "The total is on line 4.\nANSWER: 4,250",
                ["4250"],
                "one of five characters is too many: 1 - 1 / 5",
                0.8,
            ),
        ),
        (
            "inspect_evals has one number with inspect_ai 0.3.160 and later, and another before: a mark "
            "that is not in the "
            "last line counted once, and no longer does.",
            "evalscope knows ANSWER: in capitals alone, and scores the whole output without it.",
            "lmms-eval takes 204 out of 1,204, and 5 out of -5.",
        ),
        "Reports made with these harnesses.",
    ),
    Family(
        "IDP leaderboard",
        """Score = the mean of 1 - distance / longer length over all fields of all references, or over all
questions.""",
        (
            Example(
                "idp_kie",
                {"total": "17.9"},
                {"total": "17.99", "date": "2024"},
                "one of five characters is missing, and the date is: (0.8 + 0) / 2",
                0.4,
            ),
        ),
        (
            "There is no threshold: a wrong value of the same length scores what its letters share by chance.",
            "Invented fields cost nothing.",
        ),
        "Nanonets, IDP leaderboard, idp-leaderboard.org.",
    ),
    Family(
        "DUE",
        """P = hits / predicted annotations, R = hits / annotations of the reference, each counted from its own
side; F1 = 2PR / (P + R). GROUP-ANLS pairs the groups of both sides for the highest sum of F1 and
pools their annotations, where values are equal from a similarity of 0.5 on.""",
        (
            Example(
                "due_f1",
                {"date": ["10/05/20"], "agency": ["Blue"]},
                {"date": ["10/05/20"], "agency": ["Red"], "total": ["5"]},
                "one hit of two predictions and three annotations, P = 1 / 2 and R = 1 / 3: 2PR / (P + R)",
                0.4,
            ),
        ),
        (
            "With variants, precision and recall may count different numbers of hits.",
            "The mean F1 gives 0 to a document that is empty on both sides.",
        ),
        "Borchmann et al., DUE: End-to-End Document Understanding Benchmark, NeurIPS 2021.",
    ),
    Family(
        "VRDU",
        """P = correct / (correct + surplus predictions), R = correct / entities of the reference, F1 = 2PR /
(P + R): micro over all names and documents, macro as the mean of the names' F1.""",
        (
            Example(
                "vrdu",
                [["date", "10/05/20"], ["agency", "Red Ridge"]],
                [["date", ["10/05/2020"]], ["agency", ["Blue Ridge"]], ["gross", ["12450"]]],
                "the date is correct, P = 1 / 2 and R = 1 / 3: 2PR / (P + R)",
                0.4,
                None,
                {"match": {"date": "DateMatch", "agency": "GeneralStringMatch", "gross": "PriceMatch"}},
            ),
        ),
        (
            "A prediction may serve several entities of the reference, and its doubles are free.",
            "2022-07-01 is no date, and is compared as text.",
            "A line item whose parts come in another order never matches.",
            "Month and day may be exchanged; the sign of a price is lost.",
        ),
        "Wang et al., VRDU: A Benchmark for Visually-rich Document Understanding, KDD 2023, arXiv:2211.15421.",
        {
            "vrdu": {
                "match": {"date": "DateMatch", "agency": "GeneralStringMatch", "gross": "PriceMatch"},
                "appearance": {"date": "unrepeated", "agency": "unrepeated", "gross": "repeated"},
            }
        },
    ),
    Family(
        "KIEval",
        """Entity F1 and grouping F1 = 2PR / (P + R) of values and of whole items. Aligned = equal / (equal +
corrections), where a wrong value in place of another is one correction. Items of a group are paired
for the most equal values.""",
        (
            Example(
                "kieval_aligned",
                {"groups": {}, "entities": {"date": ["2"], "store": ["x"]}},
                {"groups": {}, "entities": {"date": ["1"], "store": ["x"]}},
                "the store is equal, the date needs one correction: 1 / (1 + 1)",
                0.5,
            ),
        ),
        (
            "Invented entities are free where the references have none at all, and so are groups.",
            "Items that share nothing are paired in the order that the solver finds, which decides what "
            "counts as wrong.",
            "Joined values under a key that the reference lacks are not split.",
        ),
        "Khang et al., KIEval: Evaluation Metric for Document Key Information Extraction, ICDAR 2025, "
        "arXiv:2503.05488.",
        {"kieval_aligned": {"keys": ["store", "date"]}},
        """KIEval's repository publishes the answers of Qwen2.5-VL 72B to 100 receipts of CORD, with an entity F1 of
0.7707 and an aligned score of 0.6986 (`QwenVL_72B_Sample/` of UpstageAI/KIEval @ 95914a4). With its
`QwenVL_72B_csv.tar.gz` unpacked, [examples/kieval_cord.py](../../examples/kieval_cord.py) gives the same numbers, and
the same counts behind them:

```sh
.venv/bin/python examples/kieval_cord.py QwenVL_72B_csv
```

```text
kieval_entity_f1  0.7707  n=100
kieval_aligned  0.6986  n=100
```""",
    ),
    Family(
        "VAREX",
        """Score = the number of equal fields / the number of fields of all references, after normalisation.
ANLS is the mean of the fields' similarities, which count above 0.5.""",
        (
            Example(
                "varex",
                {"name": "ACME", "total": 5.0, "date": "1/2"},
                {"name": "Acme", "total": 5, "date": "1/3"},
                "the name is equal without case, 5.0 is 5, the date is wrong: 2 / 3",
                0.6667,
            ),
        ),
        (
            "Invented fields are free, and so are empty fields of the reference.",
            "Lists of texts are compared as Python writes them: their order counts.",
        ),
        "VAREX, arXiv:2603.15118.",
        {"varex": {"exclude": ["date"]}},
    ),
    Family(
        "ExtractBench",
        """P = right cells / predicted cells, R = right cells / cells of the reference, F1 = 2PR / (P + R), of
one document. Rows of lists are paired for the fewest unequal cells.""",
        (
            Example(
                "extractbench_value",
                {"i": [{"n": "a", "p": 1}]},
                {"i": [{"n": "a", "p": 1}, {"n": "b", "p": 2}]},
                "two right cells of two predicted and four, P = 1 and R = 1 / 2: 2PR / (P + R)",
                0.6667,
            ),
        ),
        (
            "A key that is left out counts as null, also in the precision.",
            "The keys description and court are compared by their words, whatever they mean.",
            "The century of a year of two digits depends on the year of the run; here it is that of 2026.",
        ),
        "ExtractBench, arXiv:2607.29677.",
        {"extractbench_value": {"schema": "json_schema"}},
    ),
)
