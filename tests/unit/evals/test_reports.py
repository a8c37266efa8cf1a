"""Reports say what the result says, need nothing else, and show data as text only."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from ranktrail_evals.dataset.model import Dataset
from ranktrail_evals.errors import ResultInvalid
from ranktrail_evals.gate import make_gate
from ranktrail_evals.results.junit import junit_xml
from ranktrail_evals.results.model import Result
from ranktrail_evals.results.reading import read_result
from ranktrail_evals.results.report import html_report
from ranktrail_evals.schemas import SCHEMAS, schema_text
from ranktrail_evals.scores import Reason
from tests.unit.evals.made import a_dataset, a_judge, a_result, dataset_json, record_json, scored, written

DOCS = Path(__file__).resolve().parents[3] / "docs"
HOSTILE = "<img src=x onerror=alert(1)></script><script>\"'$x^$\u202e\x07"
GATE = make_gate([], ["f1", "faithfulness", "exact_match"], [])


class Page(HTMLParser):
    """Collects elements, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data.strip())


def suite_of(result: Result) -> ET.Element:
    suite = ET.fromstring(junit_xml(result)).find("testsuite")  # noqa: S314 - ours
    assert suite is not None
    return suite


def mixed() -> Result:
    return a_result(
        scored("r1", f1=0.25, exact_match=0.0, faithfulness=1.0),
        scored("r2", f1=0.5, exact_match=0.0, faithfulness=Reason.JUDGE_TIMEOUT, run_id="RUN2"),
        gate=GATE,
        judge=a_judge(),
    )


def test_the_page_has_the_numbers_of_its_plots_in_tables() -> None:
    page = Page(html_report(mixed()))
    for shown in ("0.375", "0.250", "0.500", ">= 0.5", "FAIL", "judge_timeout", "evaluator_failure", "RUN2", "2 of 2"):
        assert shown in page.text, shown
    assert page.elements.count("svg") == 2


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    text = html_report(mixed())
    page = Page(text)
    assert not {"script", "link", "iframe", "object", "img", "form", "base"} & set(page.elements)
    assert not [name for name, _ in page.attributes if name in {"src", "style"} or name.startswith("on")]
    assert not [value for name, value in page.attributes if name == "href" and not (value or "").startswith("#")]
    assert "default-src 'none'" in text
    assert "unsafe" not in text


def test_data_never_becomes_an_element_or_steers_the_text() -> None:
    hostile = a_result(
        scored(HOSTILE, f1=0.0, run_id=HOSTILE),
        dataset=a_dataset(version="1.0"),
        judge=a_judge(HOSTILE),
        split=HOSTILE,
        result_id=HOSTILE,
        mode=HOSTILE,
    )
    plain, text = Page(html_report(a_result(scored("r", f1=0.0), judge=a_judge(), split="s"))), html_report(hostile)
    assert Page(text).elements == plain.elements
    assert not re.search("[\u202e\x07]", text)
    assert suite_of(hostile).get("name") == "mine"


def test_the_style_sheet_is_the_one_that_the_policy_allows() -> None:
    text = html_report(mixed())
    style = text.split("<style>")[1].split("</style>")[0]
    assert f"style-src 'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in text


def test_the_same_result_gives_the_same_page() -> None:
    result = mixed()
    assert html_report(result) == html_report(result)


def test_a_result_with_nothing_to_draw_is_still_a_page() -> None:
    assert "judge_not_configured" in html_report(
        a_result(scored("r", f1=Reason.NO_ANSWER, exact_match=Reason.NO_ANSWER))
    )


def test_junit_fails_exactly_where_the_gate_does() -> None:
    suite = suite_of(mixed())
    outcome = {case.get("name"): [child.tag for child in case] for case in suite}
    assert outcome["exact_match"] == outcome["f1"] == ["failure"]
    assert outcome["faithfulness"] == ["error"]
    assert outcome["retrieval_recall"] == ["skipped"]
    assert suite.attrib["tests"] == str(len(outcome))
    counts = {name: int(suite.attrib[name]) for name in ("failures", "errors", "skipped")}
    assert counts == {"failures": 2, "errors": 1, "skipped": len(outcome) - 3}
    passing = suite_of(a_result(scored("r", f1=1.0)))
    assert (passing.get("failures"), passing.get("errors")) == ("0", "0")


def test_a_partly_scored_metric_is_an_error_for_ci() -> None:
    gate = make_gate([], ["f1"], [])
    partly = junit_xml(a_result(scored("r1", f1=1.0), scored("r2", f1=Reason.NO_ANSWER), gate=gate))
    assert 'message="f1 1.000 (&gt;= 0.5) PASS, scored 1 of 2 no_answer 1"' in partly


def test_no_question_answer_or_context_stands_in_a_result() -> None:
    secret = record_json(question="SECRET question", reference_answer="SECRET answer", offline_answer="SECRET too")
    result = a_result(scored("r1"), dataset=a_dataset(secret))
    assert "SECRET" not in result.model_dump_json() + html_report(result) + junit_xml(result)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_that_of_the_model(name: str) -> None:
    """`python -m ranktrail_evals.schemas docs` writes them."""
    assert (DOCS / name).read_text("utf-8") == schema_text(SCHEMAS[name])


def test_the_schemas_take_what_the_models_take_and_refuse_unknown_fields() -> None:
    dataset, result = dataset_json(record_json(offline_answer=None)), json.loads(mixed().model_dump_json())
    for model, document in ((Dataset, dataset), (Result, result)):
        schema = json.loads(schema_text(model))
        validator = jsonschema.Draft202012Validator(schema)
        validator.check_schema(schema)
        validator.validate(document)
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({**document, "colour": 1})


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    result = mixed()
    assert read_result(str(written(tmp_path, json.loads(result.model_dump_json())))) == result


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"{", "the file"), (b'{"format_version": 2}', "format_version"), (b"\xff", "the file"), (b"[]", "the file")],
)
def test_a_file_that_is_no_result_is_refused_by_name(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(ResultInvalid, match=rf"x\.json.*{sentence}.*name the JSON file of a run"):
        read_result(str(path))
    with pytest.raises(ResultInvalid, match="no such file"):
        read_result(str(tmp_path / "none.json"))
