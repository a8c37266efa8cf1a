"""Commits are whole, durable, named by their content, and refuse what contradicts itself."""

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.digest import canonical_json, digest_of
from ranker_service.domain.errors import BlobDigestMismatch, CommitConflict, FieldInvalid, ResourceIdConflict
from ranker_service.domain.resource import Layer, ParseState
from ranker_service.memory import drafts, manifests
from ranker_service.memory.commits import Commit, CommitMode, CommitStore, DraftResource
from ranker_service.memory.damage import MemoryDamaged
from ranker_service.memory.drafts import Changes
from tests.unit.memory.commits import add, announced, contents, patch, replace_all


@pytest.fixture
def store(tmp_path: Path) -> CommitStore:
    """Open an empty store."""
    return CommitStore(tmp_path / "store")


def files_below(directory: Path) -> dict[str, bytes]:
    """Every regular file below `directory`."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_new_store_has_no_head_and_no_resources(store: CommitStore) -> None:
    assert (store.head(), store.manifest()) == ("", ())


def test_the_commit_id_is_the_digest_of_the_canonical_manifest(store: CommitStore) -> None:
    commit = patch(store, {"b": b"beta", "a": b"alpha"})
    rows = [
        [i, "document", f"{i}.md", "", "text/markdown", digest_of(body), len(body)]
        for i, body in (("a", b"alpha"), ("b", b"beta"))
    ]
    assert commit == Commit(digest_of(canonical_json({"layer": "project", "resources": rows})), "", 2, 2, 0, 0)
    assert store.head() == commit.commit_id


def test_committing_the_same_content_twice_is_the_same_commit_and_writes_nothing(
    store: CommitStore, tmp_path: Path
) -> None:
    first = replace_all(store, {"a": b"alpha", "b": b"beta"})
    before = {path: path.stat().st_ino for path in (tmp_path / "store").rglob("*") if path.is_file()}
    second = replace_all(store, {"a": b"alpha", "b": b"beta"})
    assert second == Commit(first.commit_id, first.commit_id, 2, 0, 0, 0)
    assert {path: path.stat().st_ino for path in (tmp_path / "store").rglob("*") if path.is_file()} == before


def test_a_layer_that_returns_to_old_content_returns_to_the_old_commit(store: CommitStore) -> None:
    first = patch(store, {"a": b"one"})
    patch(store, {"a": b"two"})
    assert patch(store, {"a": b"one"}).commit_id == first.commit_id
    assert contents(store) == {"a": b"one"}


def test_the_same_resources_in_another_layer_are_another_commit(tmp_path: Path) -> None:
    ids = set()
    for layer in Layer:
        with CommitStore(tmp_path / layer.value).begin(layer, CommitMode.PATCH) as draft:
            add(draft, "a", b"alpha")
            ids.add(draft.publish().commit_id)
    assert len(ids) == 3


def test_a_patch_adds_changes_and_deletes_and_leaves_the_rest(store: CommitStore, tmp_path: Path) -> None:
    first = patch(store, {"a": b"alpha", "b": b"beta", "c": b"gamma"})
    untouched = store.body_path(digest_of(b"alpha")).stat().st_ino
    commit = patch(store, {"b": b"BETA", "d": b"delta", "a": b"alpha"}, "c", "never was")
    assert commit == Commit(store.head(), first.commit_id, 3, added_count=1, changed_count=1, deleted_count=1)
    assert contents(store) == {"a": b"alpha", "b": b"BETA", "d": b"delta"}
    assert store.body_path(digest_of(b"alpha")).stat().st_ino == untouched


def test_replace_all_makes_the_layer_exactly_what_was_sent(store: CommitStore) -> None:
    patch(store, {"a": b"alpha", "b": b"beta"})
    commit = replace_all(store, {"b": b"beta", "c": b"gamma"})
    assert (commit.added_count, commit.changed_count, commit.deleted_count) == (1, 0, 1)
    assert contents(store) == {"b": b"beta", "c": b"gamma"}
    assert replace_all(store, {}).resource_count == 0
    assert store.manifest() == ()


def test_a_changed_field_is_a_change_although_the_bytes_are_the_same(store: CommitStore) -> None:
    patch(store, {"a": b"alpha"})
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "a", b"alpha", title="A title")
        assert draft.publish().changed_count == 1


def test_a_resource_may_move_to_a_free_path_and_two_may_swap_theirs(store: CommitStore) -> None:
    patch(store, {"a": b"alpha", "b": b"beta"})
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "a", b"alpha", "b.md")
        add(draft, "b", b"beta", "a.md")
        assert draft.publish().changed_count == 2
    assert {r.resource_id: r.path for r in store.manifest()} == {"a": "b.md", "b": "a.md"}


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


def test_resources_are_inspected_and_defaults_filled_in(store: CommitStore) -> None:
    with store.begin(Layer.DRAFT, CommitMode.PATCH) as draft:
        add(draft, "text", b"hello", "a/hello.md")
        add(draft, "blank", "\ufeff\n".encode(), "blank.txt")
        add(draft, "latin", b"\xe9", "latin.txt")
        add(draft, "image", b"\x89PNG", "image.png", kind="image")
        draft.publish()
    assert {r.resource_id: (r.layer, r.kind, r.media_type, r.parse_state) for r in store.manifest()} == {
        "text": (Layer.DRAFT, "document", "text/markdown", ParseState.PARSED),
        "blank": (Layer.DRAFT, "document", "text/plain", ParseState.BLANK),
        "latin": (Layer.DRAFT, "document", "text/plain", ParseState.NOT_UTF8),
        "image": (Layer.DRAFT, "image", "application/octet-stream", ParseState.NO_PARSER),
    }


def test_bytes_are_kept_as_they_are(store: CommitStore) -> None:
    bodies = {"a": b"ab\0cd\r\n\r", "b": "\ufeffe\u0301\u2028".encode(), "c": b"\xff\xfe", "d": b""}
    patch(store, bodies)
    assert contents(store) == bodies


def test_a_store_opened_again_says_the_same(store: CommitStore, tmp_path: Path) -> None:
    patch(store, {"a": b"alpha", "b": b"\xff"})
    again = CommitStore(tmp_path / "store")
    assert (again.head(), again.manifest()) == (store.head(), store.manifest())


@pytest.mark.parametrize(
    "damage", [b"", b"not json", b'{"parser_revision":"parsers.v0","parse_states":["blank"]}', None]
)
def test_parse_states_of_other_parsers_are_made_anew_and_the_commit_stays(
    store: CommitStore, tmp_path: Path, damage: bytes | None
) -> None:
    commit = patch(store, {"a": b"alpha"})
    states = tmp_path / "store" / "commits" / f"{commit.commit_id}.parse_states.json"
    whole = states.read_bytes()
    if damage is None:
        states.unlink()
    else:
        states.write_bytes(damage)
    again = CommitStore(tmp_path / "store")
    assert [r.parse_state for r in again.manifest()] == [ParseState.PARSED]
    assert states.read_bytes() == whole
    assert patch(again, {"a": b"alpha"}).commit_id == commit.commit_id


def test_the_parsers_revision_is_beside_the_manifest_and_not_in_its_id(
    store: CommitStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = patch(store, {"a": b"alpha"})
    monkeypatch.setattr(manifests, "PARSER_REVISION", "parsers.v999")
    assert patch(store, {"a": b"alpha"}).commit_id == commit.commit_id


def test_another_parent_than_expected_is_a_conflict_at_the_start_and_at_the_end(store: CommitStore) -> None:
    with pytest.raises(CommitConflict) as conflict:
        patch(store, {"a": b"alpha"}, parent="0" * 64)
    assert (conflict.value.expected, conflict.value.current) == ("0" * 64, "")
    first = patch(store, {"a": b"alpha"}, parent="")
    with store.begin(Layer.PROJECT, CommitMode.PATCH, first.commit_id) as draft:
        add(draft, "b", b"beta")
        second = patch(store, {"c": b"gamma"})
        with pytest.raises(CommitConflict) as late:
            draft.publish()
    assert (late.value.expected, late.value.current) == (first.commit_id, second.commit_id)
    assert contents(store) == {"a": b"alpha", "c": b"gamma"}


def test_a_patch_without_expected_parent_applies_to_the_head_of_the_moment(store: CommitStore) -> None:
    patch(store, {"a": b"alpha"})
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "b", b"beta")
        between = patch(store, {"a": b"ALPHA", "c": b"gamma"})
        commit = draft.publish()
    assert (commit.parent_commit_id, commit.added_count) == (between.commit_id, 1)
    assert contents(store) == {"a": b"ALPHA", "b": b"beta", "c": b"gamma"}


def test_patches_from_many_threads_all_count(store: CommitStore) -> None:
    def commit_some(worker: int) -> None:
        for step in range(5):
            patch(store, {f"{worker}-{step}": f"body {worker} {step}".encode(), f"shared-{worker}": bytes([step])})

    threads = [threading.Thread(target=commit_some, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(contents(store)) == 6 * 5 + 6


def test_of_drafts_with_one_expected_parent_exactly_one_is_published(store: CommitStore) -> None:
    parent = patch(store, {"a": b"alpha"}).commit_id
    outcomes: list[str] = []

    def try_to_commit(worker: int) -> None:
        try:
            outcomes.append(patch(store, {"a": str(worker).encode()}, parent=parent).commit_id)
        except CommitConflict:
            outcomes.append("conflict")

    threads = [threading.Thread(target=try_to_commit, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("conflict") == 7
    assert store.head() in outcomes


def test_a_discarded_or_failed_draft_leaves_nothing(store: CommitStore, tmp_path: Path) -> None:
    patch(store, {"a": b"alpha"})
    before = files_below(tmp_path)
    draft = store.begin(Layer.PROJECT, CommitMode.PATCH)
    add(draft, "b", b"beta")
    draft.discard()
    draft.discard()
    assert files_below(tmp_path) == before
    assert list((tmp_path / "store" / "incoming").iterdir()) == []
    for call in (draft.publish, lambda: draft.delete("a"), lambda: add(draft, "c", b"gamma")):
        with pytest.raises(ValueError, match="published or discarded"):
            call()


def test_opening_a_store_sweeps_what_ended_processes_left_and_spares_open_drafts(
    store: CommitStore, tmp_path: Path
) -> None:
    orphan = tmp_path / "store" / "incoming" / "orphan"
    orphan.mkdir()
    (orphan / digest_of(b"x")).write_bytes(b"x")
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "a", b"alpha")
        CommitStore(tmp_path / "store")
        assert not orphan.exists()
        draft.publish()
    assert contents(store) == {"a": b"alpha"}


@pytest.mark.parametrize("planted", [b"", b"alph", b"ALPHA", b"alphaalpha"])
def test_a_stored_body_that_is_not_what_its_name_says_is_written_again(store: CommitStore, planted: bytes) -> None:
    path = store.body_path(digest_of(b"alpha"))
    path.parent.mkdir()
    path.write_bytes(planted)
    patch(store, {"a": b"alpha"})
    assert contents(store) == {"a": b"alpha"}


def test_a_damaged_or_missing_body_is_never_returned(store: CommitStore) -> None:
    patch(store, {"a": b"alpha"})
    path = store.body_path(digest_of(b"alpha"))
    path.write_bytes(b"alphA")
    with pytest.raises(MemoryDamaged, match="other bytes"):
        store.read_body(digest_of(b"alpha"))
    path.unlink()
    with pytest.raises(MemoryDamaged, match="cannot be read"):
        store.read_body(digest_of(b"alpha"))


@pytest.mark.parametrize("damage", [b"", b"{}", None])
def test_a_damaged_manifest_is_never_used(store: CommitStore, tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "store" / "commits" / f"{patch(store, {'a': b'alpha'}).commit_id}.json"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(MemoryDamaged, match="manifest"):
        CommitStore(tmp_path / "store").manifest()


def test_a_head_that_is_no_commit_id_is_never_followed(store: CommitStore, tmp_path: Path) -> None:
    for head in (b"", b"../../etc/passwd", b"a" * 64 + b"\n", b"\xff"):
        (tmp_path / "store" / "head").write_bytes(head)
        with pytest.raises(MemoryDamaged, match="head"):
            store.manifest()


@contextmanager
def mask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("value", [0o000, 0o022, 0o077])
def test_every_directory_and_file_is_the_owners_alone_whatever_the_mask(tmp_path: Path, value: int) -> None:
    root = tmp_path / "data"
    with mask(value):
        (root / "old").mkdir(parents=True, mode=0o755)
        store = CommitStore(root / "old" / "new" / "store")
        patch(store, {"a": b"alpha"})
        with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
            add(draft, "b", b"beta")
            modes = {
                path: stat.S_IMODE(path.lstat().st_mode) for path in (root / "old").rglob("*") if path.name != "old"
            }
    assert {modes[path] for path in modes if path.is_dir()} == {0o700}
    assert {modes[path] for path in modes if path.is_file()} == {0o600}
    assert len(modes) > 10


def test_an_existing_open_directory_is_closed(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o755)
    (tmp_path / "store").chmod(0o755)
    CommitStore(tmp_path / "store")
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [b"secret", b"alpha"])
def test_a_symbolic_link_planted_for_a_body_is_replaced_and_its_target_unchanged(
    store: CommitStore, tmp_path: Path, content: bytes
) -> None:
    target = tmp_path / "target"
    target.write_bytes(content)
    path = store.body_path(digest_of(b"alpha"))
    path.parent.mkdir()
    path.symlink_to(target)
    with pytest.raises(MemoryDamaged):
        store.read_body(digest_of(b"alpha"))
    patch(store, {"a": b"alpha"})
    assert not path.is_symlink()
    assert path.stat().st_ino != target.stat().st_ino
    assert (store.read_body(digest_of(b"alpha")), target.read_bytes()) == (b"alpha", content)


def test_collection_deletes_what_neither_head_nor_keeper_needs(store: CommitStore) -> None:
    first = patch(store, {"a": b"one", "b": b"same"})
    second = patch(store, {"a": b"two!"})
    patch(store, {"a": b"three"})
    assert store.collect_garbage([digest_of(b"two!")], [first.commit_id]) > 0
    assert [store.read_body(digest_of(body)) for body in (b"one", b"two!", b"three", b"same")]
    freed = store.collect_garbage()
    assert freed >= len(b"one") + len(b"two!")
    for gone in (b"one", b"two!"):
        with pytest.raises(MemoryDamaged):
            store.read_body(digest_of(gone))
    assert contents(store) == {"a": b"three", "b": b"same"}
    assert store.collect_garbage() == 0
    with pytest.raises(MemoryDamaged):
        store.collect_garbage(keep_commits=[second.commit_id])


def test_collection_spares_what_an_open_draft_received_even_where_it_was_stored_before(store: CommitStore) -> None:
    patch(store, {"a": b"old", "b": b"beta"})
    patch(store, {"a": b"new"})
    with store.begin(Layer.PROJECT, CommitMode.PATCH) as draft:
        add(draft, "c", b"old")
        add(draft, "d", b"fresh")
        store.collect_garbage()
        assert not store.body_path(digest_of(b"old")).exists()
        draft.publish()
    assert contents(store) == {"a": b"new", "b": b"beta", "c": b"old", "d": b"fresh"}


def test_commits_and_collections_at_once_lose_nothing(store: CommitStore) -> None:
    done = threading.Event()

    def collect() -> None:
        while not done.is_set():
            store.collect_garbage()

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        for step in range(60):
            patch(store, {"a": f"body {step % 3}".encode(), f"r{step}": f"kept {step % 5}".encode()})
            assert len(contents(store)) == step + 2
    finally:
        done.set()
        collector.join()


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
