"""How often a confidence interval of nominally 95 % holds the true mean, and how wide it is, by simulation.

Populations are the scores of real runs on DocVQA and made ones that are hard: good systems of which a few questions
hold all losses. Run: python benchmarks/coverage.py [--samples 1000]
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from docvqa_runs import docvqa_scores

from anls_eval import confidence_interval

Floats = npt.NDArray[np.float64]


def populations() -> dict[str, Floats]:
    """Return the scores of each population."""
    runs = docvqa_scores()
    good = np.concatenate([np.ones(970), np.full(10, 0.9), np.full(10, 0.5), np.zeros(10)])
    return {
        f"a run of {runs['qwen2_vl_7b_instruct'].mean():.3f}": runs["qwen2_vl_7b_instruct"],
        f"a run of {runs['llama_scout'].mean():.3f}": runs["llama_scout"],
        f"a run of {runs['qwen2_vl_7b'].mean():.3f}": runs["qwen2_vl_7b"],
        f"a good system of {good.mean():.3f}": good,
        "99 % near 1, 1 % at 0": np.concatenate([np.linspace(0.95, 1, 990), np.zeros(10)]),
        "96 % at 1, the rest 0 or 0.9": np.concatenate([np.ones(960), np.zeros(20), np.full(20, 0.9)]),
        "between 0.85 and 0.95": np.linspace(0.85, 0.95, 1_000),
    }


def coverage(population: Floats, n: int, samples: int, generator: np.random.Generator) -> tuple[float, float]:
    """Return the share of samples whose interval holds the mean of the population, and the mean width."""
    true, held, widths = float(population.mean()), 0, 0.0
    for _ in range(samples):
        found = confidence_interval(generator.choice(population, n))
        held += found.low <= true <= found.high
        widths += found.high - found.low
    return held / samples, widths / samples


def of_documents(documents: int, size: int, samples: int, generator: np.random.Generator) -> tuple[float, float]:
    """The same for documents of so many questions each, whose qualities differ."""
    held, widths, true = 0, 0.0, 0.7
    clusters = np.repeat(np.arange(documents), size)
    for _ in range(samples):
        chances = generator.beta(7, 3, documents)
        scores = (generator.random(documents * size) < np.repeat(chances, size)) * 1.0
        found = confidence_interval(scores, clusters=clusters)
        held += found.low <= true <= found.high
        widths += found.high - found.low
    return held / samples, widths / samples


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000)
    samples, generator = parser.parse_args().samples, np.random.default_rng(0)
    sizes = (10, 30, 50, 100, 200, 500, 1_000)
    print(f"| population | {' | '.join(f'n = {n:,}' for n in sizes)} |")
    print("|---|" + "---|" * len(sizes))
    for name, population in populations().items():
        cells = (coverage(population, n, samples, generator) for n in sizes)
        print(f"| {name} | {' | '.join(f'{100 * held:.1f} ({width:.3f})' for held, width in cells)} |", flush=True)
    print("\n| documents of questions | coverage in % (width) |\n|---|---|")
    for documents, size in ((2, 50), (3, 300), (5, 10), (10, 10), (30, 5), (100, 10)):
        held, width = of_documents(documents, size, samples, generator)
        print(f"| {documents} of {size} | {100 * held:.1f} ({width:.3f}) |", flush=True)


if __name__ == "__main__":
    main()
