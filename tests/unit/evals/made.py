"""Records, cases and results of which a test spells out only what it is about."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ranktrail_evals.answers import Answer
from ranktrail_evals.cases import Case
from ranktrail_evals.contexts import Retrieval
from ranktrail_evals.dataset.model import Dataset, Record
from ranktrail_evals.gate import Gate, make_gate
from ranktrail_evals.passages import Context
from ranktrail_evals.results.model import JudgeIdentity, Result
from ranktrail_evals.results.summary import Stamp, Subject, make_result
from ranktrail_evals.runner import Evaluated, evaluated
from ranktrail_evals.scores import Reason, Score


def record_json(record_id: str = "r1", **fields: Any) -> dict[str, Any]:
    return {"record_id": record_id, "question": "Which?", "reference_answer": "this one", **fields}


def with_citations(*ids: str, relevant: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
    return record_json(
        citations=[{"citation_id": one, "source": "s", "text": f"the text of {one}"} for one in ids],
        judgments=[{"citation_id": one, "relevant": one in relevant} for one in ids],
        **fields,
    )


def dataset_json(*records: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "format_version": 1,
        "dataset_id": "mine",
        "version": "1.0.0",
        "records": list(records or [record_json()]),
        **fields,
    }


def a_record(**fields: Any) -> Record:
    return Record.model_validate_json(json.dumps(record_json(**fields)))


def a_dataset(*records: Mapping[str, Any], **fields: Any) -> Dataset:
    return Dataset.model_validate_json(json.dumps(dataset_json(*records, **fields)))


def written(folder: Path, document: Any, name: str = "mine.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(document), "utf-8")
    return path


def a_case(
    record: Record | None = None,
    *,
    answer: str | Reason = "this one",
    cited: Sequence[str | None] | None = None,
    ids: Sequence[str | None] | None = None,
    contexts: Sequence[str | Context] | Reason = (),
    run_id: str | None = None,
) -> Case:
    retrieval: Retrieval | Reason
    if isinstance(contexts, Reason):
        retrieval = contexts
    else:
        texts = tuple(Context(one) if isinstance(one, str) else one for one in contexts)
        retrieval = Retrieval(texts, None if ids is None else tuple(ids))
    given = answer if isinstance(answer, Reason) else Answer(answer, None if cited is None else tuple(cited))
    return Case(record or a_record(), retrieval, given, run_id)


def scored(record_id: str, run_id: str | None = None, **scores: Score) -> Evaluated:
    found = evaluated(a_case(a_record(record_id=record_id), run_id=run_id), judge_configured=False)
    found.scores.update({name.replace("nDCG10", "nDCG@10"): score for name, score in scores.items()})
    return found


def a_result(*cases: Evaluated, dataset: Dataset | None = None, gate: Gate | None = None, **fields: Any) -> Result:
    subject = Subject(dataset or a_dataset(), None, None, 0, "offline", fields.pop("judge", None))
    made = make_result(subject, Stamp.now("mine"), gate or make_gate([], ["f1"], []), cases)
    return made.model_copy(update=fields)


def a_judge(model: str = "m") -> JudgeIdentity:
    return JudgeIdentity(model=model, embedding_model=None)
