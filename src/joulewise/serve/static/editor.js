// The editor of studies: what the checks say as one types, and what may stand at the cursor.
"use strict";

const CHECK_AFTER_MS = 350, OFFER_AFTER_MS = 120, AGAIN_AFTER_MS = 2000;
const form = document.getElementById("editor"), text = document.getElementById("text");
const list = document.getElementById("offers"), numbers = document.querySelector(".numbers");
let saved = text.value, leaving = false;

/** Ask the workbench by JSON; null where it did not answer in time for it to matter. */
async function ask(address, body, signal) {
  try {
    const headers = { "content-type": "application/json", "x-joulewise": "editor" };
    const reply = await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal });
    return reply.ok ? await reply.json() : null;
  } catch (error) {
    return null;
  }
}

/** Something that is asked a while after the last reason for it, unless it is dropped; the latest question wins. */
function latest(after, work) {
  let soon = 0, asking = null;
  const drop = () => { clearTimeout(soon); asking?.abort(); };
  const begin = () => {
    drop();
    soon = setTimeout(() => { asking = new AbortController(); work(asking.signal); }, after);
  };
  return Object.assign(begin, { drop });
}

// --- what the checks say ---------------------------------------------------------------------------------------------

const check = latest(CHECK_AFTER_MS, async (signal) => {
  const found = await ask("/api/run/check", { study: form.dataset.study, text: text.value }, signal);
  if (found) tell(found);
  else if (!signal.aborted) setTimeout(check, AGAIN_AFTER_MS);  // or what is told stays that of before
});

/** Show a verdict, its messages and what a run takes. */
function tell(found) {
  const verdict = document.getElementById("verdict"), words = found.verdict[0].toUpperCase() + found.verdict.slice(1);
  if (verdict.textContent !== words) document.getElementById("told").textContent = words;
  verdict.textContent = words;
  const items = found.messages.map((message) => {
    const item = element("li", message.kind);
    if (message.line) {
      const button = element("button", "line", `Line ${message.line}`);
      button.type = "button";
      button.dataset.line = message.line;
      item.append(button, " ");
    }
    item.append(element("span", "", message.text));
    return item;
  });
  document.querySelector("#said .messages").replaceChildren(...items);
  const facts = found.costs.map((cost) => {
    const pair = document.createElement("div");
    pair.append(element("dt", "", cost.what[0].toUpperCase() + cost.what.slice(1)), element("dd", "", cost.how_much));
    return pair;
  });
  document.querySelector("#said .facts").replaceChildren(...facts);
  number(found.messages);
}

function element(name, kind, words = "") {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.textContent = words;
  return made;
}

/** Number the lines, and mark those that something is said about. */
function number(messages) {
  const kinds = new Map();
  for (const message of messages) if (kinds.get(message.line) !== "problem") kinds.set(message.line, message.kind);
  const lines = text.value.split("\n").map((_, i) => {
    const kind = kinds.get(i + 1);
    return kind ? element("b", kind, `${i + 1}\n`) : document.createTextNode(`${i + 1}\n`);
  });
  numbers.replaceChildren(...lines);
  numbers.scrollTop = text.scrollTop;
}

/** Put the cursor on a line. */
function goTo(line) {
  const lines = text.value.split("\n"), start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  text.scrollTop = Math.max(0, (line - 4) * size().height);
}

// --- what may stand at the cursor ------------------------------------------------------------------------------------

let offered = null, chosen = -1;

/** Where the cursor is: its line from 1, and how many characters stand before it there. */
function cursor() {
  const before = text.value.slice(0, text.selectionStart), lines = before.split("\n");
  return { line: lines.length, column: lines.at(-1).length };
}

const look = latest(OFFER_AFTER_MS, async (signal) => {
  const at = cursor();
  const found = await ask("/api/run/complete", { text: text.value, ...at }, signal);
  const now = cursor();
  if (found && at.line === now.line && at.column === now.column) offer(found, at);
});

/** Show what may stand at the cursor; nothing is chosen before an arrow key is. */
function offer(found, at) {
  const typed = text.value.split("\n")[at.line - 1].slice(found.start, at.column);
  const useful = found.offers.filter((each) => each.text !== typed);
  if (!useful.length) { close(); return; }
  offered = { start: found.start, ...at, offers: useful };
  chosen = -1;
  list.replaceChildren(...useful.map((each, i) => {
    const item = element("li", "");
    item.id = `offer-${i}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.append(element("code", "", each.text), " ", element("span", "", each.meaning));
    return item;
  }));
  list.hidden = false;
  const { width, height } = size(), box = text.parentElement.clientWidth;
  const left = text.offsetLeft + 12 + found.start * width - text.scrollLeft;
  const top = text.offsetTop + 10 + at.line * height - text.scrollTop;
  const isBelow = text.parentElement.getBoundingClientRect().top + top + list.offsetHeight > window.innerHeight;
  list.style.top = `${isBelow ? Math.max(0, top - height - list.offsetHeight) : top}px`;
  list.style.left = `${Math.max(0, Math.min(left, box - list.offsetWidth))}px`;
  list.scrollTop = 0;
  document.getElementById("told").textContent = `${useful.length} offers; the first is ${useful[0].text}`;
}

function close() {
  look.drop();
  list.hidden = true;
  offered = null;
  text.removeAttribute("aria-activedescendant");
}

/** Choose an offer, which a screen reader reads out. */
function choose(next) {
  const items = [...list.children];
  chosen = (next + items.length) % items.length;
  items.forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)));
  items[chosen].scrollIntoView({ block: "nearest" });
  text.setAttribute("aria-activedescendant", items[chosen].id);
}

/** Write an offer in the place of what was typed; an undo takes it back. */
function take(i) {
  const { start, line, column, offers } = offered, lines = text.value.split("\n");
  const begin = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const rest = lines[line - 1].slice(column).match(/^(?:[\w.-]*"?|\]+)/)[0];
  const closes = rest && offers[i].text.at(-1) === rest.at(-1) ? rest.length : 0;
  text.focus();
  text.setSelectionRange(begin + start, begin + column + closes);
  close();
  if (!document.execCommand("insertText", false, offers[i].text)) {
    text.setRangeText(offers[i].text, text.selectionStart, text.selectionEnd, "end");
    text.dispatchEvent(new Event("input"));
  }
  close();
}

/** How large a character is, which all are alike. */
function size() {
  const style = getComputedStyle(text), context = document.createElement("canvas").getContext("2d");
  context.font = style.font;
  return { width: context.measureText("0").width, height: parseFloat(style.lineHeight) };
}

const KEYS = {
  ArrowDown: () => choose(chosen + 1),
  ArrowUp: () => choose(chosen === -1 ? -1 : chosen - 1),
  Escape: close,
  Enter: () => chosen >= 0 && (take(chosen), true),
};

text.addEventListener("keydown", (event) => {
  if (event.ctrlKey && event.code === "Space") {
    event.preventDefault();
    look();
  } else if (offered && event.key in KEYS) {
    if (KEYS[event.key]() !== false) event.preventDefault();
  }
});
text.addEventListener("input", (event) => {
  check();
  number([]);
  const before = text.value.slice(0, text.selectionStart);
  close();
  if (event.inputType === "insertText" && /[\w"[]$/.test(before) && event.data !== null) look();
});
text.addEventListener("scroll", () => { numbers.scrollTop = text.scrollTop; close(); });
text.addEventListener("blur", () => setTimeout(close, 150));
list.addEventListener("mousedown", (event) => {
  event.preventDefault();
  const item = event.target.closest("[role=option]");
  if (item) take([...list.children].indexOf(item));
});
document.getElementById("said").addEventListener("click", (event) => {
  if (event.target.dataset.line) goTo(Number(event.target.dataset.line));
});
form.addEventListener("submit", async (event) => {
  leaving = event.submitter?.value !== "save";
  if (leaving) return;
  event.preventDefault();
  const kept = text.value, told = document.getElementById("kept");
  told.textContent = "";
  const found = await ask("/api/run/save", { study: form.dataset.study, text: kept, mark: form.elements.mark.value });
  if (!found) { leaving = true; form.submit(); return; }
  form.elements.mark.value = found.mark;
  saved = kept;
  told.textContent = "Saved.";
});
window.addEventListener("beforeunload", (event) => { if (!leaving && text.value !== saved) event.preventDefault(); });
document.getElementById("check").hidden = true;  // it is checked as one types
check();
