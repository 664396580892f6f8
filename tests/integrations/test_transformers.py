"""transformers: a Seq2SeqTrainer and a Trainer with tiny models made here, not downloaded."""

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from places import ROOT
from transformers import (
    ByT5Tokenizer,
    DataCollatorForSeq2Seq,
    EvalPrediction,
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainingArguments,
    set_seed,
)

from anls_eval.integrations.transformers import greedy_ids, greedy_next_ids, make_compute_metrics
from anls_eval.scoring import anls_scores
from examples import transformers_compute_metrics as example

TOKENIZER = ByT5Tokenizer()


def mean(scores: Any) -> float:
    return math.fsum(scores.tolist()) / len(scores)


def ids(text: str) -> list[int]:
    return list(TOKENIZER(text)["input_ids"])


def test_example_runs() -> None:
    program = ROOT / "examples" / "transformers_compute_metrics.py"
    done = subprocess.run([sys.executable, str(program), "1"], capture_output=True, text=True, check=True)
    assert re.search(r"^ANLS 0\.0000 before training, 0\.\d{4} after$", done.stdout, re.MULTILINE)


def test_seq2seq_trainer(tmp_path: Path) -> None:
    """What it generated after training, decoded here on its own, scores the same; several answers are accepted."""
    trainer = example.make_trainer(str(tmp_path), steps=60)
    trainer.train()
    found = trainer.predict(trainer.eval_dataset)
    texts = [TOKENIZER.decode([own for own in row if own >= 3]) for row in found.predictions.tolist()]
    expected = mean(anls_scores(texts, list(example.QUESTIONS.values())))
    assert found.metrics["test_anls_score"] == expected > 0.3


def test_trainer_of_a_decoder(tmp_path: Path) -> None:
    """The prompt has no labels and takes no part; each label is predicted by the position before it."""
    set_seed(0)
    pairs = [("total?", "13.30"), ("cake?", "Apple cake")]
    rows = []
    for prompt, answer in pairs:
        asked = ids(prompt)[:-1]
        rows.append({"input_ids": asked + ids(answer), "labels": [-100] * len(asked) + ids(answer)})
    model = GPT2LMHeadModel(GPT2Config(vocab_size=384, n_embd=64, n_layer=1, n_head=2, n_positions=32))
    options: dict[str, Any] = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
    trainer = Trainer(
        model=model,
        args=TrainingArguments(str(tmp_path), max_steps=30, learning_rate=1e-2, **options),
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(rows),
        data_collator=DataCollatorForSeq2Seq(TOKENIZER),
        compute_metrics=make_compute_metrics(TOKENIZER),
        preprocess_logits_for_metrics=greedy_next_ids,
    )
    trainer.train()
    texts = []
    for row, (_, answer) in zip(rows, pairs, strict=True):
        with torch.no_grad():
            likeliest = model(torch.tensor([row["input_ids"]])).logits[0].argmax(-1).tolist()
        texts.append(TOKENIZER.decode(likeliest[-len(ids(answer)) - 1 : -1], skip_special_tokens=True))
    assert trainer.evaluate()["eval_anls_score"] == mean(anls_scores(texts, [own for _, own in pairs])) > 0.3


def padded(texts: list[str], padding: int) -> Any:
    rows = [ids(text) for text in texts]
    width = max(map(len, rows))
    return np.array([row + [padding] * (width - len(row)) for row in rows])


@pytest.mark.parametrize("padding", [-100, 0])
def test_labels_are_the_answers(padding: int) -> None:
    compute = make_compute_metrics(TOKENIZER, protocol="rrc")
    given, labels = ["Denver Bronco", "12/15/89 "], ["Denver Broncos", "12/15/88"]
    with pytest.warns(UserWarning, match="extra whitespace"):
        found = compute(EvalPrediction((padded(given, padding), None), padded(labels, padding)))
    with pytest.warns(UserWarning, match="extra whitespace"):
        assert found == {"anls_score": mean(anls_scores(given, labels, protocol="rrc"))}


def test_tokenizer_of_a_processor() -> None:
    class Processor:
        tokenizer = TOKENIZER

    found = make_compute_metrics(Processor(), threshold=0.9)(EvalPrediction(padded(["abcd"], 0), padded(["abcx"], 0)))
    assert found == {"anls_score": 0.0}


def test_logits_are_refused() -> None:
    logits = np.zeros((2, 3, 384), dtype=np.float32)
    with pytest.raises(ValueError, match=r"predictions are float32 of shape \(2, 3, 384\); .*greedy_ids"):
        make_compute_metrics(TOKENIZER)(EvalPrediction(logits, padded(["ab"], 0)))


def test_greedy_ids() -> None:
    logits = torch.nn.functional.one_hot(torch.tensor([[5, 6, 7]]), 9).float()
    labels = torch.tensor([[1, 2, -100]])
    assert greedy_ids(logits, labels).tolist() == [[5, 6, -100]]
    assert greedy_ids((logits, None), labels).tolist() == [[5, 6, -100]]
    assert greedy_next_ids(logits, torch.tensor([[-100, 1, 2]])).tolist() == [[-100, 5, 6]]


def test_trees() -> None:
    """Labels and predictions are JSON, or the answers are trees; fields compare their parts."""
    given, labels = ['```json\n{"total": "17.90"}\n```', '{"total": 3'], ['{"total": 17.9}', '{"total": 3}']
    evaluated = EvalPrediction(padded(given, -100), padded(labels, -100))
    options: dict[str, Any] = {"protocol": "anls_star", "fields": {"$.total": {"compare": "number"}}}
    assert make_compute_metrics(TOKENIZER, **options)(evaluated) == {"anls_star_score": 0.5}
    trees = make_compute_metrics(TOKENIZER, answers=[{"total": 17.9}, {"total": 3}], **options)
    assert trees(evaluated) == {"anls_star_score": 0.5}
    assert make_compute_metrics(TOKENIZER, protocol="anls_star")(evaluated) == {"anls_star_score": 0.4}


def test_extract() -> None:
    evaluated = EvalPrediction(padded(["<think>b</think>abcd"], 0), padded(["abcx"], 0))
    assert make_compute_metrics(TOKENIZER, extract="think")(evaluated) == {"anls_score": 0.75}
