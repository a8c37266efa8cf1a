"""What contradicts itself, or is not what it says, is refused by name and leaves no trace."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.digest import digest_of
from ranker_service.domain.errors import BlobDigestMismatch, FieldInvalid, ResourceIdConflict
from ranker_service.domain.resource import Layer
from ranker_service.memory import drafts
from ranker_service.memory.commits import CommitMode, CommitStore, DraftResource
from ranker_service.memory.drafts import Changes
from tests.unit.memory.commits import add, announced, contents, patch, replace_all


def files_below(directory: Path) -> dict[str, bytes]:
    """Every regular file below `directory`."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_one_id_for_two_paths_is_refused(store: CommitStore) -> None:
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "readme", b"one", "a/README.md")
        with pytest.raises(ResourceIdConflict) as conflict:
            add(draft, "readme", b"two", "b/README.md")
    assert (conflict.value.path, conflict.value.other_path) == ("b/README.md", "a/README.md")
    assert store.head() == ""


def test_one_path_for_two_ids_is_refused_in_a_draft_and_against_the_layer(store: CommitStore) -> None:
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "a", b"alpha", "x.md")
        with pytest.raises(FieldInvalid, match=r"^path "):
            add(draft, "b", b"beta", "x.md")
        draft.publish()
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "b", b"beta", "x.md")
        with pytest.raises(FieldInvalid, match=r"^path "):
            draft.publish()
        draft.delete("a")
        draft.publish()
    assert contents(store) == {"b": b"beta"}


def test_a_resource_is_sent_once_and_not_deleted_in_the_same_commit(store: CommitStore) -> None:
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "a", b"alpha")
        with pytest.raises(FieldInvalid, match=r"^resource_id .* twice"):
            add(draft, "a", b"alpha")
        with pytest.raises(FieldInvalid, match=r"^delete_resource_id "):
            draft.delete("a")
        draft.delete("b")
        with pytest.raises(FieldInvalid, match=r"^delete_resource_id "):
            add(draft, "b", b"beta")
    with (
        store.begin(Layer.PROJECT, CommitMode.REPLACE_ALL) as draft,
        pytest.raises(FieldInvalid, match="only for a patch"),
    ):
        draft.delete("a")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("resource_id", ""),
        ("resource_id", "\ud83d"),
        ("path", "../x"),
        ("path", "\udc00"),
        ("kind", "k" * 65),
        ("title", "\ud800"),
        ("media_type", "nonsense"),
        ("digest", "../../etc/passwd"),
        ("digest", "a" * 64 + "\n"),
        ("digest", "A" * 64),
        ("digest", "\u0661" * 64),
        ("size_bytes", -1),
        ("size_bytes", 33 * 1024 * 1024),
    ],
)
def test_a_wrong_field_is_named_before_a_byte_is_read(
    store: CommitStore, tmp_path: Path, field: str, value: object
) -> None:
    def never() -> Iterator[bytes]:
        raise AssertionError
        yield b""

    values: dict[str, object] = {"resource_id": "a", "path": "a.md", "size_bytes": 1, "digest": digest_of(b"a")}
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        before = set(files_below(tmp_path))
        with pytest.raises(FieldInvalid) as refusal:
            draft.add(DraftResource(**{**values, field: value}), never())  # type: ignore[arg-type]
        assert refusal.value.field == field
        assert set(files_below(tmp_path)) == before


@pytest.mark.parametrize("path", ["../../x", "/etc/passwd", "a" * 64 + "\n", "A" * 64, "\u0661" * 64, "0x" + "a" * 62])
def test_no_body_path_is_made_of_anything_but_a_digest(store: CommitStore, path: str) -> None:
    for call in (store.body_path, store.read_body):
        with pytest.raises(FieldInvalid):
            call(path)


@pytest.mark.parametrize(
    ("announcement", "chunks"),
    [(b"abc", [b"ab"]), (b"abc", [b"ab", b"cd"]), (b"abc", [b"abd"]), (b"abc", []), (b"", [b"a"])],
)
def test_other_bytes_than_announced_are_refused_and_the_draft_is_as_before(
    store: CommitStore, announcement: bytes, chunks: list[bytes]
) -> None:
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        with pytest.raises(BlobDigestMismatch) as refusal:
            draft.add(announced("a", announcement), chunks)
        assert refusal.value.digest == digest_of(announcement)
        add(draft, "a", announcement)
        draft.publish()
    assert contents(store) == {"a": announcement}


def test_more_bytes_than_announced_are_not_read_to_their_end(store: CommitStore) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(5):
            yield b"x" * 1024
        raise AssertionError

    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft, pytest.raises(BlobDigestMismatch):
        draft.add(DraftResource("a", "a.md", 4096, "0" * 64), endless())


def test_a_frame_over_the_limit_is_refused(store: CommitStore) -> None:
    body = bytes(1024 * 1024 + 1)
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft, pytest.raises(FieldInvalid, match=r"^body "):
        draft.add(announced("a", body), [body])


def test_a_layer_holds_no_more_resources_than_the_limit(store: CommitStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "RESOURCES_PER_LAYER", 2)
    patch(store, {"a": b"alpha", "b": b"beta"})
    with pytest.raises(FieldInvalid) as refusal:
        patch(store, {"c": b"gamma"})
    assert (refusal.value.field, refusal.value.limit) == ("resource", 2)
    with pytest.raises(FieldInvalid):
        replace_all(store, {"a": b"", "b": b"", "c": b""})
    assert patch(store, {"c": b"gamma"}, "a").resource_count == 2


ids = st.sampled_from(["a", "b", "c"])
edits = st.lists(st.tuples(ids, st.sampled_from(["x", "y", "z"]), st.booleans()), max_size=6)


@given(steps=st.lists(edits, max_size=4), mode=st.sampled_from(CommitMode))
def test_a_layer_never_has_an_id_or_a_path_twice_and_counts_add_up(
    steps: list[list[tuple[str, str, bool]]], mode: CommitMode
) -> None:
    layer = Changes(mode).applied_to(()).resources
    for step in steps:
        changes = Changes(mode)
        try:
            for resource_id, path, delete in step:
                if delete:
                    changes.delete(resource_id)
                    continue
                resource = announced(resource_id, path.encode(), path).checked(Layer.PROJECT)
                changes.check_new(resource)
                changes.add(resource)
            outcome = changes.applied_to(layer)
        except (FieldInvalid, ResourceIdConflict):
            continue
        assert len(outcome.resources) == len(layer) + outcome.added_count - outcome.deleted_count
        layer = outcome.resources
        assert [r.resource_id for r in layer] == sorted({r.resource_id for r in layer})
        assert len({r.path for r in layer}) == len(layer)
