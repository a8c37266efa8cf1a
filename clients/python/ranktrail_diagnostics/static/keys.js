"use strict";
// j k move between rows, Enter opens (the focus is on a link), / searches, x marks a Run for comparison, ? helps.
(() => {
  const links = () => [...document.querySelectorAll("[data-row]:not([hidden]) .row-link")];
  const current = () => document.activeElement?.closest("[data-row]");
  const isTyping = (target) => target.closest("input, select, textarea, [contenteditable]") !== null;

  function move(step) {
    const all = links();
    if (all.length === 0) return;
    const row = current() ?? document.querySelector("[data-row].chosen");
    const at = row ? all.indexOf(row.querySelector(".row-link")) : -1;
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    next.focus({ preventScroll: true });
    next.closest("[data-row]").scrollIntoView({ block: "nearest" });
  }

  function mark() {
    const row = current();
    if (!row?.dataset.run) return;
    const other = document.querySelector("[data-run].marked");
    if (other && other !== row) {
      location.assign(`/compare?${new URLSearchParams({ a: other.dataset.run, b: row.dataset.run })}`);
      return;
    }
    row.classList.toggle("marked");
  }

  function search() {
    const box = document.querySelector("[data-search]");
    box?.focus();
    box?.select();
  }

  const actions = {
    j: () => move(1),
    k: () => move(-1),
    x: mark,
    "/": search,
    "?": () => document.getElementById("keys").showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape" && event.target.matches("[data-search]")) {
        event.preventDefault(); // the browser would empty it
        event.target.blur();
      }
      return;
    }
    const action = actions[event.key];
    if (!action || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    action();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-action=keys]")) document.getElementById("keys").showModal();
    const row = event.target.closest("[data-row]");
    if (row && !event.target.closest("a, button, input") && getSelection().isCollapsed) row.querySelector(".row-link").click();
  });
})();
