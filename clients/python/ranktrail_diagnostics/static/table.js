"use strict";
// Sorts, filters and hides columns of the table of candidates, and marks a row's line in the drawing of ranks.
(() => {
  const KEPT = "candidate-columns";
  const table = () => document.getElementById("candidates");
  const rows = () => [...table().tBodies[0].rows];

  function sort(head) {
    const key = head.dataset.key;
    const isUp = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table().tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
    const order = (row) => row.querySelector(`[data-key="${key}"]`).dataset.order;
    const isNumber = head.classList.contains("num");
    const compare = (left, right) => {
      const [a, b] = [order(left), order(right)];
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined); // absent is last, either way
      const difference = isNumber ? Number(a) - Number(b) : a.localeCompare(b);
      return isUp ? difference : -difference;
    };
    table().tBodies[0].append(...rows().sort(compare));
  }

  function filter() {
    const text = document.querySelector("[data-filter=candidates]").value.trim().toLowerCase();
    const outcome = document.querySelector("[data-filter-outcome=candidates]").value;
    let shown = 0;
    for (const row of rows()) {
      const fits = (!outcome || row.dataset.outcome === outcome) && (!text || row.textContent.toLowerCase().includes(text));
      row.hidden = !fits;
      shown += fits;
    }
    const count = document.querySelector("[data-count-of=candidates]");
    count.textContent = shown === rows().length ? `${shown}` : `${shown} of ${rows().length}`;
  }

  function showColumns(choices) {
    for (const [key, isShown] of Object.entries(choices)) {
      for (const cell of table()?.querySelectorAll(`[data-key="${CSS.escape(key)}"]`) ?? []) cell.hidden = !isShown;
      const box = document.querySelector(`[data-column="${CSS.escape(key)}"]`);
      if (box) box.checked = isShown;
    }
  }

  function kept() {
    try { return JSON.parse(localStorage.getItem(KEPT)) ?? {}; } catch { return {}; }
  }

  function mark(row) {
    for (const line of document.querySelectorAll(".plot .is-marked")) line.classList.remove("is-marked");
    if (!row?.dataset.mark) return;
    for (const line of document.querySelectorAll(`.plot [data-mark="${row.dataset.mark}"]`)) line.classList.add("is-marked");
  }

  function choose(row) {
    for (const other of document.querySelectorAll("[data-row].chosen")) other.classList.remove("chosen");
    row.classList.add("chosen");
  }

  document.addEventListener("click", (event) => {
    const head = event.target.closest("#candidates th[data-key]");
    if (head && event.target.closest("button")) sort(head);
    const row = event.target.closest("#candidates [data-row]");
    if (row) choose(row);
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-filter], [data-filter-outcome]")) filter();
    if (event.target.matches("[data-column]")) {
      const choices = { ...kept(), [event.target.dataset.column]: event.target.checked };
      try { localStorage.setItem(KEPT, JSON.stringify(choices)); } catch { /* it holds for this page */ }
      showColumns(choices);
    }
  });
  document.addEventListener("focusin", (event) => mark(event.target.closest("[data-mark]")));
  document.addEventListener("mouseover", (event) => mark(event.target.closest("tr[data-mark]")));
  document.addEventListener("htmx:afterSettle", (event) => {
    // Beside the table it is in sight; below it, it has to come there.
    if (event.detail.target?.id === "detail" && !matchMedia("(min-width: 1180px)").matches) event.detail.target.scrollIntoView();
    for (const text of document.querySelectorAll("[data-place]")) {
      const here = text.querySelector(".here");
      text.scrollTop = Math.max(0, here.offsetTop - text.offsetTop - 24);
    }
    if (table()) showColumns(kept());
  });
  if (table()) showColumns(kept());
  document.querySelector("[data-place] .here")?.scrollIntoView({ block: "center" });
})();
