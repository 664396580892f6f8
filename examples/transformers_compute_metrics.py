"""Train a sequence-to-sequence model and score what it generates by ANLS.

The model is a tiny one with random weights, made here, that learns four answers by heart: replace it, its tokenizer and
the data by your own. Run ``python examples/transformers_compute_metrics.py``.
"""

import sys
import tempfile

from datasets import Dataset
from transformers import (
    ByT5Tokenizer,
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)

from anls_eval.integrations.transformers import make_compute_metrics

QUESTIONS = {
    "total?": ["13.30", "EUR 13.30"],
    "cake?": ["Apple cake", "apple"],
    "glue?": ["6.25"],
    "paid?": ["cash", "in cash"],
}


def make_trainer(folder: str, steps: int) -> Seq2SeqTrainer:
    """Give a trainer that evaluates on the questions that it learns."""
    set_seed(0)
    tokenizer = ByT5Tokenizer()
    config = T5Config(
        vocab_size=384, d_model=64, d_kv=16, d_ff=128, num_layers=1, num_heads=4, decoder_start_token_id=0
    )
    data = Dataset.from_list(
        [
            {"input_ids": tokenizer(question)["input_ids"], "labels": tokenizer(answers[0])["input_ids"]}
            for question, answers in QUESTIONS.items()
        ]
    )
    model = T5ForConditionalGeneration(config)
    return Seq2SeqTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(
            folder,
            max_steps=steps,
            learning_rate=1e-2,
            logging_strategy="no",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            predict_with_generate=True,
            generation_max_length=16,
            use_cpu=True,
        ),
        train_dataset=data,
        eval_dataset=data,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        processing_class=tokenizer,
        compute_metrics=make_compute_metrics(tokenizer, answers=list(QUESTIONS.values())),
    )


def main() -> None:
    """Train and print the score before and after."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(folder, steps)
        before = trainer.evaluate()["eval_anls_score"]
        trainer.train()
        print(f"ANLS {before:.4f} before training, {trainer.evaluate()['eval_anls_score']:.4f} after")


if __name__ == "__main__":
    main()
