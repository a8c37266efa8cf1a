"""The default models in processes of their own, as the ranker runs them."""

import os
import subprocess
import sys

import pytest

ENCODE = """
import hashlib, socket, sys

def refuse(*arguments):
    raise SystemExit("a connection was opened")

socket.socket.connect = socket.getaddrinfo = refuse

from ranker_service.models.encoder import TransformerEncoder
from ranker_service.models.late_interaction import LateInteraction
from ranker_service.models.source import resolve

encoder = TransformerEncoder.load(resolve(), sys.argv[1])
query = encoder.encode_query("how do I roll back a release")
digest = hashlib.sha256(query.vector.tobytes() + query.token_vectors.tobytes())
texts = [f"Step {n}: " + "roll back " * n for n in range(1, 20)]
for _, unit in sorted(encoder.encode_units(texts, keep_token_vectors=True), key=lambda pair: pair[0]):
    digest.update(unit.vector.tobytes() + unit.token_vectors.values.tobytes() + unit.token_vectors.scales.tobytes())
print(digest.hexdigest())
"""


def encode(dtype: str, threads: int) -> subprocess.CompletedProcess[str]:
    """Encode in a new process for which the environment names a number of threads."""
    variables = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    return subprocess.run(
        [sys.executable, "-c", ENCODE, dtype], env=os.environ | variables, capture_output=True, text=True, check=True
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_every_process_makes_the_same_vectors_in_silence_and_without_a_connection(dtype: str) -> None:
    runs = [encode(dtype, threads) for threads in (1, 3)]
    assert runs[0].stdout == runs[1].stdout
    assert [run.stderr for run in runs] == ["", ""]
