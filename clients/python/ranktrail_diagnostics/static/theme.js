"use strict";
// Runs before the page is drawn, so that a chosen theme never flashes.
(() => {
  const CHOICES = { system: "◐", light: "☀", dark: "☾" };
  const chosen = () => {
    try { return localStorage.getItem("theme") in CHOICES ? localStorage.getItem("theme") : "system"; } catch { return "system"; }
  };
  const show = (choice) => {
    if (choice === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
    for (const sign of document.querySelectorAll("[data-theme-sign]")) sign.textContent = CHOICES[choice];
    for (const word of document.querySelectorAll("[data-theme-word]")) word.textContent = choice;
  };
  show(chosen());
  document.addEventListener("DOMContentLoaded", () => show(chosen()));
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-action=theme]")) return;
    const names = Object.keys(CHOICES);
    const next = names[(names.indexOf(chosen()) + 1) % names.length];
    try { localStorage.setItem("theme", next); } catch { /* a browser that keeps nothing still changes now */ }
    show(next);
  });
})();
