"use strict";
// Sends a chosen file as it is, so that neither side has to hold it; then what the page shows is asked for anew.
(() => {
  const form = document.getElementById("import");
  const answer = document.getElementById("import-answer");
  const say = (text) => {
    const note = document.createElement("p");
    note.textContent = text;
    answer.replaceChildren(note);
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    const [file] = document.getElementById("fixture").files;
    const headers = { "content-type": "application/octet-stream", "hx-request": "true", ...JSON.parse(document.body.getAttribute("hx-headers")) };
    button.disabled = true;
    say(`Importing ${file.name}…`);
    try {
      const response = await fetch("/evaluation/import", { method: "POST", headers, body: file });
      const template = document.createElement("template");
      template.innerHTML = await response.text(); // made by the server's own templates
      answer.replaceChildren(template.content);
      if (response.ok) htmx.trigger(document.body, "imported");
    } catch {
      say("The import broke off; nothing of it was kept. Try again.");
    }
    button.disabled = false;
  });
})();
