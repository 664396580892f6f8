"""verl: the rewards loaded from a configuration by its own loader and called by its reward managers."""

import asyncio
import json
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from transformers import ByT5Tokenizer
from verl import DataProto
from verl.trainer.ppo.reward import get_custom_reward_fn, load_reward_manager
from verl.workers.reward_manager.batch import BatchRewardManager

from anls_eval.scoring import anls_score, anls_star_score

TOKENIZER = ByT5Tokenizer()
TRUTHS = [["Denver Broncos", "Broncos"], ["12 %"]]
SOLUTIONS = ["<think>a team</think>Denver Bronco", "12%"]
DOCUMENTS = ['{"total": 12.5, "vendor": "ACME"}', '{"total": 13}']
OUTPUTS = ['```json\n{"total": "12.50", "vendor": "ACMF"}\n```', '{"total": 13']
FIELDS = {"$.total": {"compare": "number"}}


def configuration(name: str, **reward_kwargs: Any) -> Any:
    return OmegaConf.create(
        {
            "reward": {
                "custom_reward_function": {
                    "path": "pkg://anls_eval.integrations.verl",
                    "name": name,
                    "reward_kwargs": reward_kwargs,
                },
                "reward_manager": {"source": "register", "name": "naive", "module": None},
            }
        }
    )


def rollout(solutions: list[str], truths: list[Any]) -> DataProto:
    """A batch as a rollout makes it: prompts, responses padded on the right, truths beside them."""
    ids = [TOKENIZER(solution, add_special_tokens=False)["input_ids"] for solution in solutions]
    longest = max(map(len, ids))
    responses = torch.tensor([own + [0] * (longest - len(own)) for own in ids])
    prompts = torch.ones((len(ids), 2), dtype=torch.long)
    mask = torch.tensor([[1, 1] + [1] * len(own) + [0] * (longest - len(own)) for own in ids])
    rewards = np.empty(len(ids), dtype=object)
    rewards[:] = [{"style": "rule", "ground_truth": truth} for truth in truths]
    extra = np.empty(len(ids), dtype=object)
    extra[:] = [{} for _ in ids]
    return DataProto.from_dict(
        tensors={"prompts": prompts, "responses": responses, "attention_mask": mask},
        non_tensors={
            "reward_model": rewards,
            "data_source": np.array(["receipts"] * len(ids), dtype=object),
            "extra_info": extra,
        },
    )


CASES = [
    (SOLUTIONS, TRUTHS, {"extract": "think"}, [anls_score("Denver Bronco", TRUTHS[0]), anls_score("12%", TRUTHS[1])]),
    (
        OUTPUTS,
        DOCUMENTS,
        {"protocol": "anls_star", "fields": FIELDS},
        [anls_star_score({"total": 12.5, "vendor": "ACMF"}, json.loads(DOCUMENTS[0])), 0.0],
    ),
]


@pytest.mark.parametrize(("solutions", "truths", "options", "expected"), CASES)
def test_one_by_one(solutions: list[str], truths: list[Any], options: dict[str, Any], expected: list[float]) -> None:
    async def run() -> list[float]:
        manager = load_reward_manager(configuration("compute_score", **options), TOKENIZER)
        data = rollout(solutions, truths)
        return [(await manager.run_single(data[row : row + 1]))["reward_score"] for row in range(len(data))]

    assert asyncio.run(run()) == expected


@pytest.mark.parametrize(("solutions", "truths", "options", "expected"), CASES)
def test_in_a_batch(solutions: list[str], truths: list[Any], options: dict[str, Any], expected: list[float]) -> None:
    """The reward of each solution stands at its last token."""
    function = get_custom_reward_fn(configuration("compute_scores", **options))
    manager = BatchRewardManager(TOKENIZER, num_examine=0, compute_score=function)
    rewards = manager(rollout(solutions, truths))
    assert rewards.sum(dim=1).tolist() == pytest.approx(expected, rel=1e-6)  # as float32
    last = [len(TOKENIZER(solution, add_special_tokens=False)["input_ids"]) - 1 for solution in solutions]
    assert rewards[range(len(last)), last].tolist() == rewards.sum(dim=1).tolist()
