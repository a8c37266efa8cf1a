"use strict";
// Judges a case: the state is what is to be saved, the page shows it, and a draft in the browser survives a reload.
(() => {
  const root = document.getElementById("judging");
  const given = JSON.parse(root.dataset.case);
  const PREFIX = `judging:${given.case_id}:`;
  const AUTHOR = "judging-author";
  const author = document.getElementById("author");
  const answer = document.getElementById("save-answer");
  const button = (name) => root.querySelector(`.save-tools [data-do=${name}]`);
  const recalled = new Set(given.recalled);
  const nameOf = (resource, unit) => JSON.stringify([resource, unit ?? null]);
  const bySubject = (all) => new Map(all.map((one) => [nameOf(one.resource_id, one.unit_key), one]));
  const paths = new Map();

  let version = given.version; // the one that the work began from
  let stored = bySubject(given.judgments);
  let judged = new Map(stored);
  let requestId = null; // the same as long as the same is sent, so that a repeated request is saved once
  let undone = []; // what each change replaced
  let current = null; // the row that keys speak of

  // What is kept in the browser
  const keys = () => Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  function kept() {
    try {
      const found = keys().map((key) => [Number(key.slice(PREFIX.length)), JSON.parse(localStorage.getItem(key))]);
      return found.filter(([number]) => number <= given.version).sort((a, b) => b[0] - a[0])[0] ?? null;
    } catch { return null; }
  }
  function keep() {
    try {
      for (const key of keys()) localStorage.removeItem(key);
      if (isChanged()) localStorage.setItem(PREFIX + version, JSON.stringify({ judgments: [...judged.values()], requestId }));
    } catch { /* a browser that keeps nothing still saves */ }
  }
  const isChanged = () => changedCount() > 0 || version !== given.version;
  const isSame = (a, b) => a === b || (a !== undefined && b !== undefined && a.relevance === b.relevance && a.notes === b.notes && a.source === b.source && a.missed === b.missed);
  const changedCount = () => [...new Set([...judged.keys(), ...stored.keys()])].filter((name) => !isSame(judged.get(name), stored.get(name))).length;

  // Rows
  function subjectOf(row) {
    if (row.dataset.unit) return given.units[row.dataset.unit];
    const [resource, path] = JSON.parse(row.dataset.resource);
    paths.set(resource, path);
    return [resource, null];
  }
  const judgedRow = (target) => target.closest("#judging [data-unit], #judging [data-resource]");

  function showRow(row) {
    const one = judged.get(nameOf(...subjectOf(row)));
    for (const grade of row.querySelectorAll("[data-grade]")) {
      grade.setAttribute("aria-pressed", String(one !== undefined && one.relevance === Number(grade.dataset.grade)));
    }
    const remove = row.querySelector("[data-do=remove]");
    if (remove) remove.hidden = one === undefined;
    const note = row.querySelector("[data-note]");
    if (note) {
      note.hidden = one === undefined;
      if (document.activeElement !== note) note.value = one?.notes ?? "";
    }
    const source = row.querySelector("[data-source]");
    if (source) source.textContent = one && one.source !== "human" ? one.source : "";
    const badge = row.querySelector("[data-recalled]");
    if (badge) badge.hidden = !recalled.has(subjectOf(row)[0]);
    row.classList.toggle("is-changed", !isSame(one, stored.get(nameOf(...subjectOf(row)))));
  }

  function showWhole() {
    const body = document.querySelector("#whole tbody");
    const wanted = [...judged.values()].filter((one) => one.unit_key === null || one.unit_key === undefined);
    wanted.sort((a, b) => (a.resource_id < b.resource_id ? -1 : 1));
    const there = new Map([...body.rows].map((row) => [subjectOf(row)[0], row]));
    for (const [resource, row] of there) if (!wanted.some((one) => one.resource_id === resource)) row.remove();
    for (const one of wanted) body.append(there.get(one.resource_id) ?? wholeRow(one.resource_id));
    for (const row of body.rows) showRow(row);
    document.getElementById("whole").hidden = wanted.length === 0;
    document.getElementById("no-whole").hidden = wanted.length > 0;
  }

  function wholeRow(resource) {
    const row = document.getElementById("whole-row").content.firstElementChild.cloneNode(true);
    row.dataset.resource = JSON.stringify([resource, paths.get(resource) ?? resource]);
    const link = row.querySelector("[data-name]");
    link.textContent = paths.get(resource) ?? resource;
    link.href = `/cases/${encodeURIComponent(given.case_id)}/resource?${new URLSearchParams({ id: resource })}`;
    link.setAttribute("hx-get", link.getAttribute("href"));
    row.querySelector("[role=group]").setAttribute("aria-label", `Relevance of ${link.textContent}`);
    row.querySelector("[data-missed-mark]").hidden = recalled.has(resource);
    htmx.process(row);
    return row;
  }

  function show() {
    for (const row of root.querySelectorAll("[data-unit], #corpus [data-resource]")) showRow(row);
    showWhole();
    const count = changedCount();
    const state = root.querySelector("[data-state]");
    const words = `${count} ${count === 1 ? "judgment" : "judgments"} not saved`;
    if (version !== given.version) state.textContent = `${words}, begun from version ${version}. The case is at version ${given.version} now: saving shows both sides.`;
    else if (count > 0) state.textContent = `${words}. They stay in this browser, over a reload too.`;
    else state.textContent = told ?? "Nothing to save.";
    button("save").disabled = button("discard").disabled = !isChanged();
    button("undo").disabled = undone.length === 0;
    root.querySelector(".save-bar").classList.toggle("is-changed", isChanged());
  }

  // Changes
  function set(name, value) {
    undone.push([name, judged.get(name)]);
    put(name, value);
  }
  function put(name, value) {
    if (value === undefined) judged.delete(name);
    else judged.set(name, value);
    requestId = null;
    keep();
    show();
  }
  function grade(row, relevance) {
    const [resource, unit] = subjectOf(row);
    const name = nameOf(resource, unit);
    const missed = unit === null && !recalled.has(resource);
    set(name, { resource_id: resource, unit_key: unit, relevance, missed, notes: judged.get(name)?.notes ?? "", source: "human" });
  }
  const remove = (row) => { const name = nameOf(...subjectOf(row)); if (judged.has(name)) set(name, undefined); };
  function undo() {
    const last = undone.pop();
    if (last) put(...last);
  }
  function discard() {
    if (version !== given.version) { try { for (const key of keys()) localStorage.removeItem(key); } catch { /* nothing is kept */ } }
    version = given.version;
    judged = new Map(stored);
    undone = [];
    requestId = null;
    keep();
    show();
  }

  // Saving
  const part = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html; // made by the server's own templates
    return template.content;
  };
  function problem(text) {
    const note = document.createElement("p");
    note.className = "alert";
    note.setAttribute("role", "alert");
    note.textContent = text;
    answer.replaceChildren(note);
  }
  async function save() {
    if (!isChanged()) return;
    if (author.value.trim() === "") { problem("Say who judges: the author is empty."); author.focus(); return; }
    try { localStorage.setItem(AUTHOR, author.value); } catch { /* it is asked again */ }
    requestId ??= crypto.randomUUID();
    keep();
    button("save").disabled = true;
    const headers = { "content-type": "application/json", "hx-request": "true", ...JSON.parse(document.body.getAttribute("hx-headers")) };
    const body = { expected_judgment_version: version, author: author.value.trim(), request_id: requestId, judgments: [...judged.values()] };
    try {
      const response = await fetch(`/cases/${encodeURIComponent(given.case_id)}/judgments`, { method: "POST", headers, body: JSON.stringify(body) });
      if (response.ok) { saved((await response.json()).judgment_version); return; }
      answer.replaceChildren(part(await response.text()));
    } catch { problem("The server does not answer. Nothing is lost: save again."); }
    show();
    answer.scrollIntoView({ block: "nearest" });
    answer.focus({ preventScroll: true });
  }
  function saved(number) {
    judged = new Map(stored);
    version = given.version;
    keep();
    try { sessionStorage.setItem("judging-told", `Saved as version ${number}.`); } catch { /* the page says so itself */ }
    location.reload();
  }
  async function merge(form) {
    const conflict = JSON.parse(form.closest("[data-conflict]").dataset.conflict);
    const chosen = conflict.changes.map((sides, at) => sides[Number(new FormData(form).get(`change-${at}`))]);
    judged = bySubject([...conflict.unchanged, ...chosen].filter((one) => one !== null));
    stored = bySubject(conflict.theirs);
    version = given.version = conflict.version;
    undone = [];
    requestId = null;
    keep();
    answer.replaceChildren();
    show();
    if (changedCount() > 0) await save();
    else saved(conflict.version);
  }

  // Keys and clicks
  function rowOfKeys() {
    return judgedRow(document.activeElement) ?? (current?.isConnected ? current : null);
  }
  function next(row) {
    const all = [...root.querySelectorAll("[data-unit]")];
    const following = all[all.indexOf(row) + 1];
    if (!row.dataset.unit || !following) return;
    following.querySelector(".row-link").focus({ preventScroll: true });
    following.scrollIntoView({ block: "nearest" });
  }
  const actions = {
    u: undo,
    s: save,
    m: () => document.querySelector("[data-missed]").focus(),
    n: () => rowOfKeys()?.querySelector("[data-note]:not([hidden])")?.focus(),
    "-": () => { const row = rowOfKeys(); if (row) remove(row); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const field = event.target.closest("input, select, textarea");
    if (field) {
      if (field.matches("[data-note], [data-missed]") && (event.key === "Escape" || (event.key === "Enter" && field.matches("[data-note]")))) {
        event.preventDefault();
        (judgedRow(field)?.querySelector(".row-link, a") ?? field).focus();
        if (field.matches("[data-missed]")) field.blur();
      }
      return;
    }
    const row = rowOfKeys();
    if (/^[0-3]$/.test(event.key) && row) {
      event.preventDefault();
      grade(row, Number(event.key));
      next(row);
    } else if (Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    }
  });
  document.addEventListener("focusin", (event) => { current = judgedRow(event.target) ?? current; });
  document.addEventListener("click", (event) => {
    const row = judgedRow(event.target);
    const pressed = event.target.closest("[data-grade]");
    const what = event.target.closest("[data-do]")?.dataset.do;
    if (row) current = row;
    if (row && pressed) {
      if (pressed.getAttribute("aria-pressed") === "true") remove(row);
      else grade(row, Number(pressed.dataset.grade));
    } else if (row && what === "remove") remove(row);
    else if (what === "undo") undo();
    else if (what === "discard") discard();
    else if (what === "save") save();
    else if (what === "later") answer.replaceChildren();
  });
  root.addEventListener("change", (event) => {
    const row = event.target.matches("[data-note]") ? judgedRow(event.target) : null;
    const name = row && nameOf(...subjectOf(row));
    const one = row && judged.get(name);
    if (one && one.notes !== event.target.value) set(name, { ...one, notes: event.target.value });
  });
  root.addEventListener("input", (event) => {
    if (event.target.matches("[data-note]")) event.target.dispatchEvent(new Event("change", { bubbles: true }));
  });
  root.addEventListener("submit", (event) => {
    if (!event.target.closest("[data-conflict]")) return;
    event.preventDefault();
    merge(event.target);
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.closest?.("#corpus")) show();
  });

  // Begin
  let told = null;
  try {
    told = sessionStorage.getItem("judging-told");
    sessionStorage.removeItem("judging-told");
    author.value = localStorage.getItem(AUTHOR) || author.value;
  } catch { /* nothing is kept */ }
  const draft = kept();
  if (draft !== null) {
    version = draft[0];
    judged = bySubject(draft[1].judgments);
    requestId = draft[1].requestId;
  }
  show();
})();
