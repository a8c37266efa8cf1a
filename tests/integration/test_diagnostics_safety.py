"""Who may see the pages, from where, and that nothing a memory holds becomes part of them."""

import itertools
import os
import stat
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.diagnostics_history import candidate, corpus, record_run, running_history
from tests.diagnostics_pages import Pages, elements, events, served_pages
from tests.fakes.history_server import HistoryClient
from tests.history_builders import a_corpus, a_failure, digest
from tests.processes import Service

MARKUP = "\"><img src=x onerror=alert(1)></script><script>alert(1)</script>'<style>*{}</style><iframe>"
BIDI = "\u202egnp.exe\u2066\u200f\x1b[31m\x07"
HOSTILE = f"{MARKUP}{BIDI} $x^2$ {{{{7*7}}}} {{% raw %}}"
PAGES = (
    "/",
    "/runs",
    "/runs/hostile",
    "/runs/hostile/charts",
    "/runs/hostile/candidates/0",
    "/runs/hostile/candidates/1",
)
MORE_PAGES = ("/runs/hostile/absent", "/compare?a=hostile&b=plain", "/events?topic=runtime")
LINE = 1_000_000
PANELS = 8


@pytest.fixture(scope="module")
def history() -> Iterator[tuple[Service, HistoryClient]]:
    with running_history() as running:
        client = running[1]
        client.put(corpus())
        record_run(client, "plain", candidate(1), candidate(2))
        body = (HOSTILE + "x" * LINE + HOSTILE).encode()
        hostile = a_corpus({HOSTILE: body}, project_id=HOSTILE)
        hostile.resources[0].path = hostile.resources[0].title = hostile.resources[0].kind = HOSTILE[:60]
        client.put(hostile)
        fields = dict.fromkeys(("resource_id", "path", "title", "excerpt"), HOSTILE)
        place = {
            "kind": HOSTILE[:60],
            "start_byte": 0,
            "end_byte": len(HOSTILE.encode()),
            "resource_digest": digest(body),
        }
        rows = [
            candidate(1, unit_key=f"1{HOSTILE}", heading_path=[HOSTILE, HOSTILE], **fields, **place),
            candidate(
                2, unit_key=f"2{HOSTILE}", heading_path=[], **fields, **{**place, "resource_digest": digest(b"")}
            ),
        ]
        record_run(client, "hostile", *rows, memory=hostile, query=HOSTILE, project_id=HOSTILE)
        failure = a_failure(summary=HOSTILE, stage=HOSTILE[:60], code=HOSTILE[:100])
        record_run(client, "hostile-failed", failure=failure, memory=hostile, query=HOSTILE, project_id=HOSTILE)
        yield running


@pytest.fixture(scope="module")
def pages(history: tuple[Service, HistoryClient]) -> Iterator[Pages]:
    with served_pages(history[0].data_dir) as running:
        yield running


def _text_of(pages: Pages, path: str) -> str:
    answer = pages.get("/" if path.startswith("/events") else path)
    assert answer.status_code == 200, answer.text
    if not path.startswith("/events"):
        return answer.text
    with pages.client(timeout=30) as client, client.stream("GET", path) as stream:
        return "".join(content["html"] for _, content in itertools.islice(events(stream), PANELS))


@pytest.mark.parametrize("path", [*PAGES, *MORE_PAGES])
def test_a_hostile_memory_makes_no_element_and_steers_no_text(pages: Pages, path: str) -> None:
    page = _text_of(pages, path)
    for character in "\u202e\u2066\u200f\x1b\x07":
        assert character not in page
    assert "49" not in elements(page).text or "{{7*7}}" in elements(page).text
    for tag, attributes in elements(page).found:
        assert tag not in {"iframe", "style", "base", "object", "embed"}
        assert "onerror" not in attributes
        assert "style" not in attributes
        assert tag != "img" or str(attributes["src"]).startswith("/assets/")
        assert tag != "script" or str(attributes.get("src")).startswith("/assets/")


def test_a_line_of_a_megabyte_costs_no_page_its_size(pages: Pages) -> None:
    page = pages.get("/runs/hostile/candidates/0")
    assert len(page.content) < 60_000
    assert "bytes after" in page.text


def test_every_answer_carries_a_policy_without_inline_script_or_style(pages: Pages) -> None:
    for path in ("/", "/nothing", "/session", "/runs"):
        headers = pages.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", ""])
def test_another_host_name_is_refused(pages: Pages, host: str) -> None:
    assert pages.get("/runs", headers={"host": host.format(port=pages.port)}).status_code == 421


def test_localhost_is_answered(pages: Pages) -> None:
    assert pages.get("/runs", headers={"host": f"LOCALHOST:{pages.port}"}).status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
def test_another_origin_is_refused(pages: Pages, method: str, origin: str) -> None:
    with pages.browser() as browser:
        answer = browser.request(method, "/runs", headers={"origin": origin.format(port=pages.port)})
    assert answer.status_code == 403


def test_another_site_may_link_here_and_load_nothing(pages: Pages) -> None:
    with pages.browser() as browser:
        link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
        assert browser.get("/runs", headers=link).status_code == 200
        for site in ("cross-site", "same-site"):
            assert (
                browser.get("/runs", headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}).status_code == 403
            )


def test_a_write_needs_the_token_of_its_own_session(pages: Pages) -> None:
    with pages.browser() as browser, pages.browser() as other:
        tokens = [_csrf(reader.get("/runs").text) for reader in (browser, other)]
        assert tokens[0] != tokens[1]
        own = {"origin": pages.origin}
        assert browser.post("/runs", headers=own).status_code == 403
        assert browser.post("/runs", headers={**own, "x-csrf-token": tokens[1]}).status_code == 403
        assert browser.post("/runs", headers={"x-csrf-token": tokens[0]}).status_code == 403
        # Past the guard: nothing takes a write there.
        assert browser.post("/runs", headers={**own, "x-csrf-token": tokens[0]}).status_code == 405


def _csrf(page: str) -> str:
    body = next(attributes for tag, attributes in elements(page).found if tag == "body")
    return str(body["hx-headers"]).split('"')[3]


def test_nobody_sees_a_page_without_the_token(pages: Pages) -> None:
    with pages.stranger() as stranger:
        for path in ("/", "/runs", "/runs/plain", "/events", "/?token=wrong", "/?notoken=x", "/?x=token=", "/nothing"):
            answer = stranger.get(path)
            assert answer.status_code == 401
            assert "how do we deploy" not in answer.text
            assert "set-cookie" not in answer.headers
        for token in ("wrong", "", "é"):
            assert stranger.post("/session", data={"token": token}, headers={"origin": pages.origin}).status_code == 401
        stranger.cookies.set("ranktrail_session", "0.0")
        assert stranger.get("/runs").status_code == 401
        assert stranger.get("/runs", headers={"authorization": "Bearer wrong"}).status_code == 401


def test_the_token_opens_a_session_in_a_cookie_that_no_script_and_no_other_site_gets(pages: Pages) -> None:
    with pages.stranger() as stranger:
        answer = stranger.post("/session", data={"token": pages.token}, headers={"origin": pages.origin})
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert pages.token not in cookie
        assert stranger.get("/runs").status_code == 200


def test_the_token_is_kept_where_only_its_owner_reads_it(pages: Pages) -> None:
    file = pages.data_dir / "run" / "diagnostics.token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_reading_writes_nothing(pages: Pages, history: tuple[Service, HistoryClient]) -> None:
    before = history[1].runtime()
    for path in (*PAGES, *MORE_PAGES):
        _text_of(pages, path)
    after = history[1].runtime()
    for name in ("change_sequence", "run_count", "case_count", "blob_count", "write_failure_count"):
        assert getattr(after, name) == getattr(before, name)


def test_an_address_that_others_reach_is_refused_without_a_certificate(pages: Pages) -> None:
    command = ["diagnostics", "--host", "0.0.0.0", "--data-dir", str(pages.data_dir)]  # noqa: S104 - it is refused
    ended = subprocess.run(
        [sys.executable, "-m", "ranktrail_cli", *command],
        capture_output=True,
        check=False,
        timeout=30,
        env={**os.environ},
    )
    assert ended.returncode == 5
    assert b"--certificate and --key" in ended.stderr
