"use strict";
// Listens to the server's events and shows what they bring; the HTML in them was made by the server's own templates.
(() => {
  const MAX_LIVE_ROWS = 200; // then the list is asked for anew, so that a page left open does not grow without end
  const AGAIN_MS = 2000;
  let source = null;
  let timer = null;
  let isFirst = true;
  let liveRows = 0;
  let focused = null;

  const part = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  };
  const tell = (name) => htmx.trigger(document.body, name);
  const isDown = () => document.querySelector("#panel-health .down") !== null;

  function address() {
    const topic = document.body.dataset.topic;
    const query = new URLSearchParams(document.getElementById("list")?.dataset.query ?? "");
    query.set("topic", topic);
    return `/events?${query}`;
  }

  function showPanel({ name, html }) {
    const panel = document.getElementById(`panel-${name}`);
    if (panel === null || panel.dataset.shown === html) return;
    const wasDown = isDown();
    const open = [...panel.querySelectorAll("details")].map((details) => details.open);
    panel.replaceChildren(part(html));
    panel.dataset.shown = html;
    panel.querySelectorAll("details").forEach((details, index) => { details.open = open[index] ?? false; });
    htmx.process(panel);
    showUptimes();
    if (name === "health" && wasDown && !isDown()) tell("recovered");
  }

  function showRun({ run_id: id, row }) {
    const list = document.getElementById("list");
    const rows = document.getElementById("rows");
    if (rows === null) return;
    const old = document.getElementById(`run-${id}`);
    if (row === null) { old?.remove(); return; }
    const fresh = part(row).firstElementChild;
    htmx.process(fresh);
    if (old) {
      const hasFocus = old.contains(document.activeElement);
      fresh.classList.add("changed");
      fresh.classList.toggle("marked", old.classList.contains("marked"));
      old.replaceWith(fresh);
      if (hasFocus) fresh.querySelector(".row-link").focus({ preventScroll: true });
      return;
    }
    const time = (one) => one.querySelector("time")?.dateTime ?? "";
    const after = [...rows.querySelectorAll("[data-row]")].find((one) => time(one) <= time(fresh));
    if (!after && rows.querySelector(".more")) return; // older than what is shown: it comes when it is scrolled to
    if (++liveRows > MAX_LIVE_ROWS) { liveRows = 0; tell("missed"); return; }
    fresh.classList.add("fresh");
    rows.insertBefore(fresh, after ?? null);
    list.querySelector("[data-none]")?.remove();
  }

  function connect() {
    clearTimeout(timer);
    source?.close();
    if (document.hidden) return; // a browser has few connections; a page that nobody sees needs none
    source = new EventSource(address());
    source.addEventListener("open", () => {
      document.getElementById("connection").replaceChildren();
      if (!isFirst) tell("missed");
      isFirst = false;
    });
    source.addEventListener("panel", (event) => showPanel(JSON.parse(event.data)));
    source.addEventListener("run", (event) => showRun(JSON.parse(event.data)));
    source.addEventListener("missed", () => tell("missed"));
    source.addEventListener("changed", () => tell("changed"));
    source.addEventListener("error", () => {
      source.close();
      timer = setTimeout(lost, AGAIN_MS);
    });
  }

  function lost() {
    const note = document.createElement("p");
    note.className = "alert";
    note.textContent = "The connection to this page's server was lost. What stands here may be old; it goes on by itself.";
    document.getElementById("connection").replaceChildren(note);
    connect();
  }

  function duration(ms) {
    const minutes = Math.floor(ms / 60000);
    if (minutes < 1) return "less than a minute";
    if (minutes < 60) return `${minutes} min`;
    const hours = Math.floor(minutes / 60);
    return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
  }

  function showUptimes() {
    for (const place of document.querySelectorAll("[data-uptime]")) {
      place.textContent = duration(Math.max(0, Date.now() - Date.parse(place.dataset.uptime)));
    }
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { clearTimeout(timer); source?.close(); } else connect();
  });
  window.addEventListener("pagehide", () => source?.close());
  // A list that is made anew leaves the focus where it was, and with another filter listens for other Runs.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target?.id === "list") focused = document.activeElement?.closest("[data-run]")?.id ?? null;
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target?.id !== "list" && event.detail.elt?.id !== "list") return;
    liveRows = 0;
    if (focused !== null) document.getElementById(focused)?.querySelector(".row-link").focus({ preventScroll: true });
    focused = null;
    if (new URL(source?.url ?? "/", location.href).search !== new URL(address(), location.href).search) {
      isFirst = true;
      connect();
    }
  });
  setInterval(showUptimes, 20000);
  showUptimes();
  connect();
})();
