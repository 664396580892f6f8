"""What a user's typed script looks like: every public function, for `test_types.py`, which never runs it."""

import dataclasses
from decimal import Decimal
from fractions import Fraction

from anls_eval import (
    BENCHMARKS,
    LEADERBOARDS,
    PROTOCOLS,
    AgreementReport,
    Audit,
    Automation,
    Explanation,
    Field,
    FieldReport,
    Fields,
    Match,
    Protocol,
    ScoreNode,
    __version__,
    agreement,
    anls_score,
    anls_scores,
    anls_star_score,
    anls_star_scores,
    audit,
    automate,
    check_submission,
    compare_protocols,
    confidence_interval,
    diagnose,
    explain,
    explain_answers,
    field_report,
    get_protocol,
    leaderboard_figures,
    leaderboard_score,
    leaderboard_scores,
    one_of,
    open_predictions,
    open_references,
    paired_comparison,
    protocol_from_signature,
    rank_systems,
    score_dataset,
    score_submission,
    score_systems,
    signature,
    threshold_sweep,
)

predictions: list[str | None] = ["CocaCola", None]
answers: list[list[str]] = [["Coca Cola"], ["Pepsi"]]
tree: dict[str, str | list[str]] = {"name": "CocaCola", "tags": ["drink"]}
version: str = __version__

rules: Protocol = get_protocol("docvqa")
strict: Protocol = dataclasses.replace(rules, name="strict", threshold=Fraction(9, 10))
written: Protocol = dataclasses.replace(rules, name="written", threshold="4/5")
names: list[str] = sorted([*PROTOCOLS, *LEADERBOARDS, *BENCHMARKS])
line: str = signature(strict, Decimal("0.9"), 2, missing="zero")
again: Protocol = protocol_from_signature(line)

one: float = anls_score("CocaCola", ("Coca Cola", "Coke"), protocol=strict, threshold=0.8)
count: int = len(anls_scores(predictions, answers, threshold=Decimal("0.8")))
document: float = anls_star_score(tree, {"name": one_of("CocaCola", "Coke"), "tags": None}, threshold=Fraction(1, 2))
documents: int = len(anls_star_scores([tree, tree], [tree, tree]))
type_score: float = leaderboard_score("America", "North America", protocol="mmlongbench", answer_type="Str")
figures: dict[str, float | None] = leaderboard_figures([tree], [tree], protocol="donut_f1")
option_score: float = leaderboard_score("1", ["1"], protocol="chartqapro", answer_type="", options={"year": ["NO"]})
type_scores: int = len(leaderboard_scores(["1"], ["1"], protocol="mmlongbench", answer_types=["Int"]))

total: Field = Field(compare="number", weight="0.5", absolute=Decimal("0.01"), relative=Fraction(1, 100))
fields: Fields = Fields({"$.total": total, "$.date": {"compare": "date", "day_first": None, "formats": ["%d.%m.%Y"]}})
described: Fields = Fields.from_json_schema({"type": "object", "properties": {"total": {"type": "number"}}})
options: dict[str, dict[str, object]] = described.to_dict()
counted: FieldReport = field_report([tree], [tree], fields=described, match_at="0.8")
precision: float | None = counted.micro.precision

audited: Audit = audit({"a": predictions, "b": predictions}, answers, agree=2, questions=None)
agreed: AgreementReport = agreement([1.0, 0.0], ["right", None], judge=[True, False], positive=None)
accepted: Automation = automate([tree], [tree], [{"name": 0.9, "tags": [1]}], max_error=0.01, protocol="anls_star")

explanation: Explanation = explain(tree, tree, protocol="anls_star", threshold=None)
rows: list[Match] = explanation.matches
keys: dict[str, ScoreNode] = explanation.key_scores
closest: object = explanation.closest_reference
values: dict[str, object] = explanation.to_dict()
said: list[str] = [own.sentence for own in explain_answers("a", ["b"], threshold="0.8").comparisons]

submission = score_submission(
    open_predictions("predictions.csv"),
    open_references("references.csv", columns={"answers": "answer"}),
    missing="zero",
    unknown="ignore",
)
mean: float = submission.score
notes: tuple[str, ...] | list[str] = submission.notes
plain: dict[str, object] = submission.to_dict()
systems = score_systems(["a.json", "b.json"], open_references("references.json"), missing="zero")
parts: int = score_dataset("p/*.parquet", "r/*.parquet", out="out", workers=2).parts
problems: list[str] = [problem.remedy for problem in check_submission("predictions.json").problems]

interval: tuple[float, float] = (confidence_interval([0.5, 1.0]).low, confidence_interval([0.5, 1.0]).high)
p_value: float = paired_comparison([0.5, 1.0], anls_scores(["a", "b"], ["a", "c"])).p_value
ranks: dict[str, int] = {own.name: own.rank for own in rank_systems({"a": [0.5, 1.0], "b": [0.5, 0.0]}).systems}
ranked: list[str] = [own.name for own in systems.rank().systems]
means: dict[str, float] = compare_protocols(predictions, answers, protocols=["standard", strict]).means
cause: str = diagnose(predictions, answers, "0.89", question_ids=[1, 2]).conclusion
sweep: list[float] = list(threshold_sweep(predictions, answers).means)
