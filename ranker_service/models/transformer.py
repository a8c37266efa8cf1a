"""Loading a transformer for inference on this machine's CPU."""

import threading
from collections.abc import Mapping
from typing import Any

import torch
import transformers
from safetensors import SafetensorError

from ranker_service.models.source import ModelFolder, ModelUnavailable

DTYPES: Mapping[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# Of torch.cpu.get_capabilities(): multiplying bfloat16 on x86, on x86 with tiles, and on ARM.
_BFLOAT16_ARITHMETIC = ("avx512_bf16", "amx_bf16", "bf16")
_loading = threading.Lock()


def choose_dtype() -> str:
    """Return "bfloat16" where this CPU multiplies it in hardware, else "float32"."""
    capabilities = torch.cpu.get_capabilities()
    return "bfloat16" if any(capabilities.get(name) for name in _BFLOAT16_ARITHMETIC) else "float32"


def load_transformer(kind: Any, folder: ModelFolder, dtype: str, *, unused: str = "pooler") -> Any:
    """Load `folder` as a `kind` of transformers' Auto classes, for inference.

    A layer that the checkpoint has no weights for would be filled with noise: ModelUnavailable, as for every checkpoint
    that cannot be read, except for layers whose name starts with `unused`.
    """
    with _loading:
        # One thread a text: its rounding must not depend on how many cores there are.
        torch.set_num_threads(1)
        transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        try:
            model, report = kind.from_pretrained(
                folder.path,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                dtype=DTYPES[dtype],
                output_loading_info=True,
            )
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise ModelUnavailable(f"{folder.path} cannot be loaded: {error}") from error
    missing = sorted(name for name in report["missing_keys"] if not name.startswith(unused))
    if missing or report["mismatched_keys"]:
        raise ModelUnavailable(f"{folder.path} has no weights for {', '.join(missing[:3]) or 'some layers'}")
    return model.eval()
