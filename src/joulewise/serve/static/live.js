// Draws the figures of a page, follows clicks on them, and asks the twin anew when something is moved.
const views = new Map();
let vega;

/** The scripts that draw figures, loaded when the first figure is. */
function drawing() {
  vega ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = "/static/vega.js";
    script.onload = () => done(window.vegaEmbed);
    script.onerror = () => failed(new Error("the scripts that draw figures are missing"));
    document.head.append(script);
  });
  return vega;
}

const OPTIONS = {
  mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true },
};

/** Draw one figure, or draw it anew, and have clicks and spans lead on. */
async function draw(name, told) {
  const place = document.querySelector(`.plot[data-figure="${CSS.escape(name)}"]`);
  if (!place) return;
  const embed = await drawing();
  const fresh = document.createElement("div");
  const made = await embed(fresh, told.spec, OPTIONS);
  fresh.querySelectorAll("svg").forEach((svg) => svg.setAttribute("aria-hidden", "true")); // the place has its words
  views.get(name)?.finalize();
  views.set(name, made.view);
  place.replaceChildren(fresh);
  if (place.scrollWidth > place.clientWidth) place.tabIndex = 0; // so that keys can scroll it
  if (told.follows) follow(place, made.view, told);
  if (told.zooms && told.zooms.length) zoom(made.view, told);
}

/** A click on a mark is a link: it sets a key of the query to the mark's field. */
function follow(place, view, told) {
  place.firstElementChild.classList.add("picks");
  view.addEventListener("click", (_event, item) => {
    const value = item?.datum?.[told.field] ?? item?.datum?.datum?.[told.field];
    if (value !== undefined && value !== null) go({ [told.follows]: value });
  });
}

/** A span that is drawn sets two keys of the query to its ends, once it is finished. */
function zoom(view, told) {
  let span = null;
  view.addSignalListener("span", (_name, value) => { span = value?.[told.field] ?? null; });
  view.addEventListener("pointerup", () => {
    if (!span) return;
    const [low, high] = [Math.min(...span), Math.max(...span)].map((end) => Number(end.toPrecision(6)));
    go({ [told.zooms[0]]: low, [told.zooms[1]]: high });
  });
}

/** Open this page with other keys in its query. */
function go(changes) {
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(changes)) query.set(key, value);
  location.search = query;
}

/** Draw the figures of a part of the page; those behind a fold when it is opened. */
function drawAll(part) {
  part.querySelectorAll("script.spec").forEach((script) => {
    const paint = () => draw(script.dataset.figure, JSON.parse(script.textContent));
    const fold = script.closest("details");
    if (fold && !fold.open) fold.addEventListener("toggle", paint, { once: true }); else paint();
  });
}

// --- forms -----------------------------------------------------------------------------------------------------------

/** What a form asks, without what is empty or as it is without being asked. */
function query(form) {
  const told = [...new FormData(form)].filter(([key, value]) => value !== "" && value !== form.elements[key].dataset.usual);
  return new URLSearchParams(told);
}

/** Keep a slider on its stops, which are its steps, its ends and what is usual, and tell its value beside it. */
function tell(input) {
  const { low, high, step, usual } = scaleOf(input), value = Number(input.value);
  const stops = [usual, low + Math.round((value - low) / step) * step, low, high].filter((stop) => stop >= low && stop <= high);
  set(input, stops.reduce((best, stop) => (Math.abs(stop - value) < Math.abs(best - value) ? stop : best)));
  const output = input.parentElement.querySelector("output");
  const told = Math.abs(input.value) < 1e5 ? Number(Number(input.value).toPrecision(5)) : Math.round(input.value);
  output.textContent = [told, output.dataset.unit].filter(Boolean).join(" ");
}

/** The ends of a slider, its step, and what is usual. */
function scaleOf(input) {
  const [low, high, step, usual] = [input.min, input.max, input.dataset.step, input.dataset.usual].map(Number);
  return { low, high, step: step || 1, usual };
}

/** Set a slider; what is usual is written as the page has it. */
function set(input, value) {
  input.value = value === Number(input.dataset.usual) ? input.dataset.usual : Number(value.toPrecision(12));
}

/** How many steps up or down keys move a slider: one, a tenth of the way, or to an end. */
function stepsOf(input) {
  const { low, high, step } = scaleOf(input), many = Math.max(1, Math.round((high - low) / (10 * step)));
  return {
    ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: many, PageDown: -many, Home: -Infinity, End: Infinity,
  };
}

/** The stop of a slider that lies so many steps further; a single step does not pass what is usual. */
function further(input, steps) {
  const { low, high, step, usual } = scaleOf(input), from = Number(input.value), at = (from - low) / step;
  const to = Math.abs(steps) === Infinity ? steps : low + ((steps > 0 ? Math.floor(at + 1e-6) : Math.ceil(at - 1e-6)) + steps) * step;
  const passes = Math.abs(steps) === 1 && Math.sign(usual - from) === steps && (to - usual) * steps > 0;
  return passes ? usual : Math.min(Math.max(to, low), high);
}

/** Have a key move a slider, as a hand would. */
function step(event) {
  const input = event.target;
  if (input.type !== "range" || event.altKey || event.ctrlKey || event.metaKey) return;
  const steps = stepsOf(input)[event.key];
  if (!steps) return;
  event.preventDefault();
  set(input, further(input, steps));
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

let asking = null;

/** What the server said, block by block: blocks that are as they were stay, with what is focused in them. */
const blocksOf = (answer) => [...(answer?.children ?? [])].map((block) => block.outerHTML);
let said = blocksOf(document.getElementById("answer"));
const FOCUSED = "a, button, summary, input, [tabindex]";

/** Ask this page anew and put its answer in place; the latest question wins. */
async function renew(search, { quiet = false } = {}) {
  asking?.abort();
  asking = new AbortController();
  const answer = document.getElementById("answer");
  answer.classList.add("waiting");
  try {
    const reply = await fetch(location.pathname + search, { signal: asking.signal, headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    place(page, answer, quiet);
    if (reply.ok) history.replaceState(null, "", location.pathname + search);
  } catch (error) {
    if (error.name === "AbortError") return;
    document.getElementById("told").textContent = "The workbench does not answer.";
  }
  answer.classList.remove("waiting");
}

/** Put the answer of another page in the place of this one's; the figures are drawn before they are swapped. */
function place(page, answer, quiet) {
  const fresh = page.getElementById("answer");
  if (!fresh) {
    const problems = page.querySelector(".problems");
    if (problems) answer.replaceChildren(problems);
    return;
  }
  const before = said, blocks = [...fresh.children], drawn = new Map([...answer.querySelectorAll(".plot")].map((plot) => [plot.dataset.figure, plot]));
  said = blocksOf(fresh);
  while (answer.children.length > blocks.length) answer.lastElementChild.remove();
  blocks.forEach((block, i) => {
    if (!answer.children[i]) answer.append(block); else if (said[i] !== before[i]) swap(answer.children[i], block, drawn); else return;
    drawAll(block);
  });
  answer.toggleAttribute("data-unsettled", fresh.hasAttribute("data-unsettled"));
  const lead = answer.querySelector(".findings strong");
  if (lead && !quiet) document.getElementById("told").textContent = lead.textContent;
  settle();
}

/** Put a block in the place of another; folds stay open, figures stay until they are drawn anew, focus stays. */
function swap(old, block, drawn) {
  const open = [...old.querySelectorAll("details")].map((fold) => fold.open);
  block.querySelectorAll("details").forEach((fold, i) => { fold.open = open[i] ?? false; });
  block.querySelectorAll(".plot").forEach((plot) => {
    const there = drawn.get(plot.dataset.figure);
    if (there) plot.replaceWith(there);
  });
  const focused = [...old.querySelectorAll(FOCUSED)].indexOf(document.activeElement);
  old.replaceWith(block);
  block.querySelectorAll(FOCUSED)[focused]?.focus({ preventScroll: true });
}

let waiting = 0;

/** Look again after a while, as long as the answer is not settled. */
function settle() {
  clearTimeout(waiting);
  if (document.getElementById("answer")?.hasAttribute("data-unsettled")) {
    waiting = setTimeout(() => renew(location.search, { quiet: true }), 1500);
  }
}

/** Open the page with other choices; where other wishes follow from them, those are asked anew. */
function choose(form) {
  const told = query(form), first = form.dataset.first.split(" ");
  if (leads(form)) [...told.keys()].filter((key) => !first.includes(key)).forEach((key) => told.delete(key));
  location.search = told;
}

/** Whether the form asks for more, or other, things than it did: by what its other wishes follow from. */
function leads(form) {
  const first = form.dataset.first.split(" ");
  return [...form.elements].some((each) => first.includes(each.name) && each.selectedOptions && !each.selectedOptions[0].defaultSelected);
}

/**
 * Have a form show at once what its sliders say, and, where its page is live, ask at every move. A choice that opens
 * the page anew does so by a pointer at once, and by the button for those who go through the choices by keys.
 */
function listen(form) {
  const isLive = form.hasAttribute("data-live");
  let soon = 0, points = false;
  const ask = () => {
    clearTimeout(soon);
    soon = setTimeout(() => renew(`?${query(form)}`), 60);
  };
  form.addEventListener("input", (event) => {
    if (event.target.type === "range") tell(event.target);
    if (isLive && !leads(form)) ask();
    else if (event.target.tagName === "SELECT" && points) choose(form);
  });
  form.addEventListener("pointerdown", () => { points = true; });
  form.addEventListener("keydown", (event) => { points = false; step(event); });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (isLive && !leads(form)) ask(); else choose(form);
  });
}

document.querySelectorAll("form.wishes").forEach(listen);
drawAll(document);
settle();
