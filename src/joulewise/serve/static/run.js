// Follows a run: how far it is, and its log, as the workbench tells.
"use strict";

const AGAIN_MS = 5000, GONE = "The workbench does not answer. The run goes on by itself.";
const followed = document.getElementById("run");

/** Show how far the run is; once it is over, the page is another one. */
function showRun(now) {
  if (!now.is_open) { location.reload(); return; }
  const bar = document.getElementById("bar");
  if (now.n_total) { bar.max = now.n_total; bar.value = now.n_done; } else { bar.removeAttribute("value"); }
  document.getElementById("line").textContent = now.line || now.state;
  const state = document.querySelector(".facts dd");
  if (state && state.textContent !== now.state) {
    state.textContent = now.state;
    document.getElementById("told").textContent = `The run is ${now.state}.`;
  }
  const log = document.getElementById("log"), atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  log.firstElementChild.textContent = now.log;
  if (atEnd) log.scrollTop = log.scrollHeight;
}

/** Open the page anew once the workbench answers, and, where the run is over, once it is another one. */
function again(state = null) {
  setTimeout(async () => {
    const reply = await fetch(`/api/run/orders/${followed.dataset.number}`, { cache: "no-store" }).catch(() => null);
    const now = reply?.ok ? await reply.json() : null;
    if (now && now.state !== state) location.reload(); else again(state);
  }, AGAIN_MS);
}

if (followed?.hasAttribute("data-open")) {
  const events = new EventSource(`/api/run/orders/${followed.dataset.number}/events`);
  events.onmessage = (event) => showRun(JSON.parse(event.data));
  events.onerror = () => {
    events.close();
    document.getElementById("line").textContent = document.getElementById("told").textContent = GONE;
    again();
  };
  window.addEventListener("pagehide", () => events.close());
} else if (followed?.dataset.state === "broken off") {
  again(followed.dataset.state);
}
