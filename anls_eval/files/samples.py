"""The sample logs of lm-eval and lmms-eval: what the model was asked, and what it answered.

Facts from EleutherAI/lm-evaluation-harness and EvolvingLMMs-Lab/lmms-eval, loggers/evaluation_tracker.py: each line
holds ``doc_id`` (the number of the row in the dataset), ``target`` (``str`` of the answers, so that a list is written
as Python does), ``filtered_resps`` (the responses that are scored) and, in lm-eval and early lmms-eval, the row itself
as ``doc``. lmms-eval adds ``input``.
"""

from typing import Any


def unfolded(record: dict[str, Any]) -> dict[str, Any]:
    """Return a sample with the columns of its dataset row and its only response; leave other objects unchanged."""
    if "filtered_resps" not in record or "target" not in record:
        return record
    doc = record.get("doc")
    response = record["filtered_resps"]
    while isinstance(response, list) and len(response) == 1:
        response = response[0]
    return {**(doc if isinstance(doc, dict) else {}), **record, "filtered_resps": response}
