"""Linear layers whose weights lie in memory as the CPU's kernels want them.

Two reasons. A short text spends most of its time on laying the weights out anew at every call, so packing them once
halves it. And the plain float32 kernel rounds a row differently now and then with the number of rows beside it, which
the packed one was never seen to do.
"""

import torch
from torch import nn
from torch.nn import functional

# The row count that packing optimises for: a batch of units. Measured from 16 to 1,024, nothing depends on it.
_PACKED_FOR_ROWS = 128


class PackedLinear(nn.Module):
    """`nn.Linear` for inference: (..., in) to (..., out), in the weights' dtype."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        bias = linear.bias
        self._bias = None if bias is None else bias.detach()
        self._weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), _PACKED_FOR_ROWS)  # noqa: SLF001

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return `states` times the weights plus the bias."""
        result: torch.Tensor = torch.ops.mkldnn._linear_pointwise(  # noqa: SLF001 - what torch.compile emits too
            states, self._weight, self._bias, "none", [], ""
        )
        return result


class Float64Head(nn.Module):
    """A linear layer that ends a model: (rows, in) to (rows, out) in float64, each row by itself.

    Logits that are rounded to the model's dtype tie where the model's states do not.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._weight = linear.weight.detach().double()
        self._bias = torch.zeros(linear.out_features).double() if linear.bias is None else linear.bias.detach().double()

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return `states` times the weights plus the bias."""
        rows = [functional.linear(row.double()[None], self._weight, self._bias) for row in states]
        return torch.cat(rows)


def pack(model: nn.Module, dtype: torch.dtype) -> bool:
    """Replace every `nn.Linear` inside `model`, in place; return False where this CPU has no kernels for it."""
    if not _has_kernels(dtype):
        return False
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, PackedLinear(child))
    return True


def _has_kernels(dtype: torch.dtype) -> bool:
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    return dtype != torch.bfloat16 or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())  # noqa: SLF001
