"""The cases of every RPC by its full name."""

from google.protobuf.descriptor import MethodDescriptor

from tests.descriptors import contract_methods
from tests.rpc_cases import evaluation, history, ranker
from tests.rpc_cases.case import RpcCases
from tests.rpc_cases.documented import reasons_of_method

CASES: dict[str, RpcCases] = {**ranker.CASES, **history.CASES, **evaluation.CASES}
COVERED: list[MethodDescriptor] = [method for method in contract_methods() if method.full_name in CASES]
KEPT_OPEN = [
    method
    for method in COVERED
    if "OVERLOADED" in reasons_of_method(method.full_name)
    and (method.client_streaming or CASES[method.full_name].endless)
]
"""Those with a limit of their own that a caller can keep open."""
