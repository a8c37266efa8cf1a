"""`ranktrail judge`: how relevant is what a Run found, and what did it miss."""

import getpass
import sys
import uuid
from pathlib import Path

import click

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_cli.commands.case import INT64_MAX, case_with_trace
from ranktrail_cli.completing import CaseField
from ranktrail_cli.difference_view import print_difference, standing_words
from ranktrail_cli.drafts import MAX_JUDGMENTS_BYTES, Drafts
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import TextField, read_bounded
from ranktrail_cli.judge_dialog import JudgeDialog
from ranktrail_cli.judge_screen import Screen
from ranktrail_cli.judging import Judging
from ranktrail_cli.keyboard import Keyboard
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.trace_view import counted
from ranktrail_client.client import Client
from ranktrail_client.errors import EvaluationJudgmentConflict
from ranktrail_client.judgment_difference import difference_json, read_difference
from ranktrail_client.judgments import parse_judgments
from ranktrail_client.message_json import message_json


@click.command(
    epilog=examples(
        "ranktrail judge 01JD5ZB0M3T8V6C1E9H2K7P4QR",
        "ranktrail judge 01JD5ZB0M3T8V6C1E9H2K7P4QR --file judgments.json --expected-version 4 --author ada",
    )
)
@click.argument("case_id", metavar="CASE", type=CaseField("case_id"))
@click.option(
    "--file", "path", type=click.Path(path_type=Path), help="A JSON list of judgments that replaces the whole set."
)
@click.option(
    "--expected-version",
    metavar="N",
    type=click.IntRange(0, INT64_MAX),
    help="With --file: the version that it is made from.",
)
@click.option("--author", type=TextField("--author", may_be_blank=False), help="Who judges. Default: the login name.")
@with_session
def judge(session: Session, case_id: str, path: Path | None, expected_version: int | None, author: str | None) -> None:
    """Judge what a case's Run found: 0 not relevant, 1 marginally, 2 relevant, 3 an answer.

    On a terminal, one candidate after another, one key each: 0-3 judge, s skip, b back, m missed evidence, / search the
    corpus, u undo, ? help, q save and quit. What is not saved is kept in DATA/judging/ after every key and offered the
    next time. Where somebody else saved meanwhile, both sides' changes are shown and brought together.

    With --file, the fields of a judgment are resource_id, unit_key, relevance, missed, notes and source. Ends with 4,
    and replaces nothing, when the version is another one: what changed on both sides is then printed.
    """
    if (path is None) != (expected_version is None):
        raise click.UsageError("--file and --expected-version go together: give both or none")
    name = author or _login_name()
    if path is not None and expected_version is not None:
        _judge_by_file(session, case_id, path, expected_version, name)
        return
    if session.output.as_json:
        raise click.UsageError("judging by keys has no --json: give --file and --expected-version")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("judging by keys needs a terminal: use one, or give --file and --expected-version")
    with session.connect("history") as client:
        _judge_by_keys(session, client, case_id, name)


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:
        raise click.UsageError("nobody knows your login name here: give --author") from error


def _judge_by_keys(session: Session, client: Client, case_id: str, author: str) -> None:
    judging = Judging.of(case_with_trace(client, case_id))
    drafts = Drafts(session.data_dir / "judging", judging.case.case_id)
    with Keyboard() as keyboard:
        dialog = JudgeDialog(client, judging, drafts, author, keyboard, Screen(), session.output)
        try:
            ending = dialog.run()
        except KeyboardInterrupt:
            session.output.line()
            if judging.is_changed:
                session.output.remark(
                    f"not saved: {dialog.draft_path} has it, and `ranktrail judge {case_id}` offers it"
                )
            raise
    session.output.line()
    session.output.line(ending)


def _judge_by_file(session: Session, case_id: str, path: Path, expected_version: int, author: str) -> None:
    judgments = parse_judgments(read_bounded(path, "--file", MAX_JUDGMENTS_BYTES))
    request = pb.ReplaceEvaluationJudgmentsRequest(
        case_id=case_id,
        expected_judgment_version=expected_version,
        author=author,
        request_id=uuid.uuid4().hex,
        judgments=judgments,
    )
    with session.connect("history") as client:
        try:
            standing = client.evaluation.replace_evaluation_judgments(request)
        except EvaluationJudgmentConflict as conflict:
            raise _conflict(session, client, request) from conflict
    if session.output.as_json:
        session.output.document({"case_id": case_id, **message_json(standing), "judgment_count": len(judgments)})
    judged = counted(len(judgments), "judgment")
    session.output.line(f"case {case_id}: version {standing.judgment_version} has {judged} by {author}")


def _conflict(session: Session, client: Client, refused: pb.ReplaceEvaluationJudgmentsRequest) -> CommandFailed:
    """Print what changed on both sides; return what the command ends with."""
    difference = read_difference(
        client.evaluation, refused.case_id, refused.expected_judgment_version, refused.judgments
    )
    if session.output.as_json:
        session.output.document(difference_json(difference))
    else:
        print_difference(session.output, difference)
    return CommandFailed(
        f"{standing_words(difference)}: bring both together and give --expected-version {difference.current_version}",
        Exit.CONFLICT,
    )
