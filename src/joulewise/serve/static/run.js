// Follows a run: how far it is, and its log, as the workbench tells.
"use strict";

const AGAIN_MS = 5000;
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

if (followed?.hasAttribute("data-open")) {
  const events = new EventSource(`/api/run/orders/${followed.dataset.number}/events`);
  events.onmessage = (event) => showRun(JSON.parse(event.data));
  events.onerror = () => {
    if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), AGAIN_MS);
  };
  window.addEventListener("pagehide", () => events.close());
}
