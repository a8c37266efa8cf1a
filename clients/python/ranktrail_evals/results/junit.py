"""A result as JUnit XML, for CI: one test case a metric, so that it fails exactly where the gate does."""

from xml.etree import ElementTree as ET

from ranktrail_client.safe_text import safe_line
from ranktrail_evals.results.model import MetricResult, Outcome, Result
from ranktrail_evals.results.words import metric_sentence, open_reasons


def junit_xml(result: Result) -> str:
    """Return the document. Metrics that are not required are skipped, whatever their value."""
    suite = ET.Element("testsuite", name=result.dataset, timestamp=result.create_time.removesuffix("Z"))
    for name, metric in result.metrics.items():
        case = ET.SubElement(suite, "testcase", classname=f"evals.{result.dataset}", name=name)
        _add_outcome(case, result, name, metric)
    return document(suite)


def document(suite: ET.Element) -> str:
    """Return the document of one suite, with its counts."""
    root = ET.Element("testsuites", name="ranktrail evals")
    root.append(suite)
    counts = {tag: len(suite.findall(f"testcase/{tag}")) for tag in ("failure", "error", "skipped")}
    suite.attrib |= {"tests": str(len(suite)), **{_PLURALS[tag]: str(count) for tag, count in counts.items()}}
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


_PLURALS = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def _add_outcome(case: ET.Element, result: Result, name: str, metric: MetricResult) -> None:
    sentence = metric_sentence(name, metric)
    missing = open_reasons(result, name)
    if name not in result.required:
        ET.SubElement(case, "skipped", message=f"not required: {sentence}")
    elif metric.outcome is Outcome.FAIL:
        failed = ET.SubElement(case, "failure", message=sentence)
        failed.text = safe_line("; ".join(_case_lines(result, name)))
    elif metric.outcome is Outcome.UNAVAILABLE or missing:
        ET.SubElement(case, "error", message=f"{sentence} {missing}".rstrip())


def _case_lines(result: Result, name: str) -> list[str]:
    values = ((record.record_id, record.metrics[name].value) for record in result.records)
    return [f"{record_id} {value:.3f}" for record_id, value in values if value is not None]
