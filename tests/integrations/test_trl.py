"""TRL: steps of a real GRPOTrainer, with a tiny model of random weights made here."""

import json
import string
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from transformers import ByT5Tokenizer, GPT2Config, GPT2LMHeadModel, set_seed
from trl import GRPOConfig, GRPOTrainer

from anls_eval.integrations.trl import make_reward

ROWS = [
    {"prompt": "letters?", "answers": [string.printable], "document": json.dumps({"total": 12.5})},
    {"prompt": "digits?", "answers": [string.digits, string.printable], "document": json.dumps({"total": 13})},
]
TEXTS = make_reward(threshold=0, extract="think,answer_tag")
TREES = make_reward(answers="document", protocol="anls_star", fields={"$.total": {"compare": "number"}})


@pytest.mark.filterwarnings("ignore")  # of the trainer
def test_a_step_of_training(tmp_path: Path) -> None:
    """The trainer calls both rewards with its columns, logs them under their names, and takes a step."""
    set_seed(0)
    seen: list[list[float | None]] = []

    def kept(**columns: Any) -> list[float | None]:
        seen.append(TEXTS(**columns))
        return seen[-1]

    config = GRPOConfig(
        str(tmp_path),
        max_steps=2,
        per_device_train_batch_size=4,
        num_generations=2,
        max_completion_length=6,
        report_to="none",
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
        use_cpu=True,
        bf16=False,
    )
    model = GPT2LMHeadModel(GPT2Config(vocab_size=384, n_embd=16, n_layer=1, n_head=2, n_positions=64))
    before = model.lm_head.weight.clone()
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[kept, TREES],
        args=config,
        train_dataset=Dataset.from_list(ROWS),
        processing_class=ByT5Tokenizer(),
    )
    trainer.train()
    assert [len(own) for own in seen] == [4, 4]
    logged = [row for row in trainer.state.log_history if "rewards/kept/mean" in row]
    assert [row["rewards/kept/mean"] for row in logged] == pytest.approx([sum(filter(None, own)) / 4 for own in seen])
    assert all(0 <= row["rewards/anls_star/mean"] <= 1 for row in logged)
    assert any(own for batch in seen for own in batch)  # with a threshold of 0, a single character has a reward
    assert not model.lm_head.weight.equal(before)
