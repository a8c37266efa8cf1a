"""Commits are whole, named by their content, and safe beside each other."""

import threading
from pathlib import Path

import pytest

from ranker_service.domain.digest import canonical_json, digest_of
from ranker_service.domain.errors import CommitConflict
from ranker_service.domain.resource import Layer, ParseState
from ranker_service.memory.commits import Commit, CommitMode, CommitStore
from tests.unit.memory.commits import add, contents, patch, replace_all


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
