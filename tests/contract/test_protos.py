"""The contracts and what is generated from them."""

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import FieldDescriptor, FileDescriptor

from protos.descriptor_set import descriptor_set
from ranktrail.trace.v1 import trace_pb2
from tests.descriptors import PROTOS, ROOT, contract_files

BUF = Path(sys.executable).parent / "buf"
FILES: list[FileDescriptor] = contract_files()
DISPATCH = {
    "activate_memory": "ranktrail.ranker.v1.RankerService.ActivateMemory",
    "list_retrieval_runs": "ranktrail.history.v1.HistoryService.ListRetrievalRuns",
    "get_retrieval_run": "ranktrail.history.v1.HistoryService.GetRetrievalRun",
    "clear_retrieval_runs": "ranktrail.history.v1.HistoryService.ClearRetrievalRuns",
    "create_evaluation_case": "ranktrail.evaluation.v1.EvaluationService.CreateEvaluationCase",
    "replace_evaluation_judgments": "ranktrail.evaluation.v1.EvaluationService.ReplaceEvaluationJudgments",
    "export_evaluation_set": "ranktrail.evaluation.v1.EvaluationService.ExportEvaluationSet",
}


def test_committed_stubs_are_what_the_contracts_generate(tmp_path: Path) -> None:
    subprocess.run([sys.executable, PROTOS / "generate.py", tmp_path / "python"], check=True, capture_output=True)
    generated = {p.relative_to(tmp_path / "python"): p.read_bytes() for p in (tmp_path / "python").rglob("*.py*")}
    committed_root = PROTOS / "gen" / "python"
    committed = {
        p.relative_to(committed_root): p.read_bytes()
        for p in committed_root.rglob("*.py*")
        if "__pycache__" not in p.parts
    }
    assert generated == committed


@pytest.mark.parametrize(
    "arguments", [["lint", "protos"], ["breaking", "protos", "--against", "protos/released.binpb"]]
)
def test_contracts_pass_lint_and_break_no_released_client(arguments: list[str]) -> None:
    result = subprocess.run([BUF, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def test_every_method_of_the_old_dispatch_table_has_an_rpc_and_stands_in_the_readme() -> None:
    methods = {m.full_name for f in FILES for s in f.services_by_name.values() for m in s.methods}
    assert set(DISPATCH.values()) <= methods
    readme = (PROTOS / "README.md").read_text("utf-8")
    for old, new in DISPATCH.items():
        service, method = new.rsplit(".", 2)[1:]
        assert f"| {old} | `{service}.{method}`" in readme


def test_every_message_field_enum_value_and_method_has_a_comment() -> None:
    bare = []
    for file in descriptor_set().file:
        if not file.name.startswith("ranktrail/"):
            continue
        commented = {tuple(location.path) for location in file.source_code_info.location if location.leading_comments}
        bare += [f"{file.name}:{path}" for path in _documented_paths(file) if path not in commented]
    assert bare == []


def _documented_paths(file: descriptor_pb2.FileDescriptorProto) -> list[tuple[int, ...]]:
    paths: list[tuple[int, ...]] = []
    for i, message in enumerate(file.message_type):
        paths += _message_paths((4, i), message)
    for i, enum in enumerate(file.enum_type):
        paths += _enum_paths((5, i), enum)
    for i, service in enumerate(file.service):
        paths += [(6, i), *((6, i, 2, j) for j in range(len(service.method)))]
    return paths


def _message_paths(at: tuple[int, ...], message: descriptor_pb2.DescriptorProto) -> list[tuple[int, ...]]:
    if message.options.map_entry:
        return []
    paths = [at, *((*at, 2, j) for j in range(len(message.field)))]
    for j, nested in enumerate(message.nested_type):
        paths += _message_paths((*at, 3, j), nested)
    for j, enum in enumerate(message.enum_type):
        paths += _enum_paths((*at, 4, j), enum)
    return paths


def _enum_paths(at: tuple[int, ...], enum: descriptor_pb2.EnumDescriptorProto) -> list[tuple[int, ...]]:
    return [at, *((*at, 2, j) for j in range(len(enum.value)))]


def test_a_rank_or_score_that_may_be_missing_has_presence() -> None:
    names = [f for f in trace_pb2.Candidate.DESCRIPTOR.fields if f.name.endswith(("_rank", "_score", "_priority"))]
    assert len(names) == 13
    for field in [*names, trace_pb2.Candidate.DESCRIPTOR.fields_by_name["relevance"]]:
        assert field.has_presence, field.name


def test_integers_that_json_may_lose_are_few_and_signed() -> None:
    """Unsigned 64-bit values overflow SQLite's integers, so no contract has one."""
    unsigned = {FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64}
    for file in FILES:
        for message in file.message_types_by_name.values():
            assert not [f.name for f in message.fields if f.type in unsigned], message.full_name


def test_every_error_reason_is_documented_with_its_status_code() -> None:
    codes = (
        "NOT_FOUND",
        "ABORTED",
        "INVALID_ARGUMENT",
        "FAILED_PRECONDITION",
        "DATA_LOSS",
        "ALREADY_EXISTS",
        "INTERNAL",
    )
    codes += ("RESOURCE_EXHAUSTED", "UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED", "Never sent")
    file = next(f for f in descriptor_set().file if f.name.endswith("error_reason.proto"))
    comments = {tuple(location.path): location.leading_comments for location in file.source_code_info.location}
    for i, value in enumerate(file.enum_type[0].value):
        assert comments[5, 0, 2, i].strip().startswith(codes), value.name
