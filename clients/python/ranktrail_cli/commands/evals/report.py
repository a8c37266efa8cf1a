"""`ranktrail evals report`: a result as a page, or for CI."""

from pathlib import Path

import click

from ranktrail_cli.commands.evals.files import write_html, write_text
from ranktrail_cli.commands.evals.refusals import with_refusals
from ranktrail_cli.examples import examples
from ranktrail_cli.session import Session, with_session
from ranktrail_evals.results.junit import junit_xml
from ranktrail_evals.results.reading import read_result


@click.command(epilog=examples("ranktrail evals report my-result.json --html report.html --junit report.xml"))
@click.argument("result")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page that needs nothing else.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML.")
@with_session
@with_refusals
def report(session: Session, result: str, html: Path | None, junit: Path | None) -> None:
    """Write what a result file holds as an HTML page or as JUnit XML."""
    if html is None and junit is None:
        raise click.UsageError("name what to write: --html OUT, --junit OUT or both")
    found = read_result(result)
    written = {}
    if html is not None:
        write_html(html, found)
        written["html"] = str(html)
    if junit is not None:
        write_text(junit, junit_xml(found))
        written["junit"] = str(junit)
    if session.output.as_json:
        session.output.document({"result_id": found.result_id, **written})
    for kind, path in written.items():
        session.output.line(f"{kind}: {path}")
