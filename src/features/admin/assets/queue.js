// The queue with the keyboard. Without this script the same forms work with the mouse.
const list = document.querySelector(".queue");
const token = document.querySelector("#bulk [name=csrf]").value;
const here = document.querySelector("#bulk").getAttribute("action");
const items = () => [...list.querySelectorAll(".item")];
let current = 0;
let anchor = null;
let pendingKey = null;
let undoable = [];

async function post(path, fields) {
  const body = new URLSearchParams([["csrf", token], ...fields]);
  const reply = await fetch(path, { method: "POST", body, headers: { Accept: "application/json" } });
  const type = reply.headers.get("content-type") ?? "";
  if (!type.includes("json")) {
    location.reload();
    throw new Error("the session has ended");
  }
  return { ok: reply.ok, body: await reply.json() };
}

function toast(text, onUndo) {
  document.querySelector(".toast")?.remove();
  const note = document.createElement("div");
  note.className = "toast";
  note.setAttribute("role", "status");
  note.append(text);
  if (onUndo) {
    const button = document.createElement("button");
    button.textContent = "Undo (z)";
    button.addEventListener("click", onUndo);
    note.append(button);
  }
  document.body.append(note);
  setTimeout(() => note.remove(), 10_000);
}

function focus(index) {
  const all = items();
  if (all.length === 0) return;
  current = Math.max(0, Math.min(index, all.length - 1));
  for (const item of all) item.removeAttribute("aria-current");
  const item = all[current];
  item.setAttribute("aria-current", "true");
  item.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
  claim(item.dataset.item);
}

/** What others cannot decide about while it is the current one. */
let held = null;
async function claim(item) {
  const left = held && held !== item ? [["release", held]] : [];
  held = item;
  const { ok, body } = await post(list.dataset.claim, [["item", item], ...left]);
  if (ok || held !== item) return;
  held = null;
  if (body.by) toast(`${body.by} works on this one.`);
}

// A claim ends after two minutes, a look may take longer.
setInterval(() => held && !document.hidden && claim(held), 60_000);
addEventListener("pagehide", () => {
  if (held) navigator.sendBeacon(list.dataset.claim, new URLSearchParams([["csrf", token], ["release", held]]));
});

function select(upToHere) {
  const all = items();
  const from = upToHere && anchor !== null ? Math.min(anchor, current) : current;
  const to = upToHere && anchor !== null ? Math.max(anchor, current) : current;
  for (const item of all.slice(from, to + 1)) {
    if (upToHere) item.classList.add("selected");
    else item.classList.toggle("selected");
  }
  anchor = current;
}

/** The selected items, or the current one. */
function chosen() {
  const selected = items().filter((item) => item.classList.contains("selected"));
  return selected.length > 0 ? selected : items().slice(current, current + 1);
}

async function decide(action, extra = []) {
  const about = chosen();
  if (about.length === 0) return;
  const fields = about.map((item) => ["item", item.dataset.item]);
  if (about.length > 20) {
    const typed = prompt(`Type ${about.length} to ${action} so many.`);
    if (typed !== String(about.length)) return;
    fields.push(["confirm", typed]);
  }
  const reason = items()[current]?.querySelector("[name=reason]")?.value;
  if (reason) fields.push(["reason", reason]);
  const places = about.map((item) => ({ item, before: item.nextElementSibling }));
  const { ok, body } = await post(here, [["do", action], ...fields, ...extra]);
  if (!ok) return toast(body.error ?? "This did not work.");
  if (body.decided.length === 0) return toast(body.message);
  const decided = new Set(body.decided.map((one) => (one.appealId ? `appeal:${one.appealId}` : one.reportId)));
  const gone = places.filter(({ item }) => decided.has(item.dataset.item));
  for (const { item } of gone) item.remove();
  undoable = [{ ids: body.decided.map((one) => one.id), gone }, ...undoable].slice(0, 20);
  if (decided.has(held)) held = null;
  toast([`${decided.size} × ${action}`, body.message].filter(Boolean).join(", "), undo);
  focus(current);
  more();
}

async function undo() {
  const last = undoable.shift();
  if (!last) return;
  const { body } = await post(list.dataset.undo, last.ids.map((id) => ["decision", id]));
  if (!body.undone?.length) return toast("It is too late to undo this.");
  fewest += body.undone.length;
  for (const { item, before } of last.gone.reverse()) {
    item.classList.remove("selected");
    if (before?.parentNode === list) before.before(item);
    else list.append(item);
  }
  focus(items().indexOf(last.gone[0].item));
  toast("Undone");
}

/** The next page, before this one is done. */
let loading = false;
async function more() {
  const next = document.querySelector("#next");
  if (!next || loading || items().length > 10) return;
  loading = true;
  const page = new DOMParser().parseFromString(await (await fetch(next.href)).text(), "text/html");
  const known = new Set(items().map((item) => item.dataset.item));
  for (const item of page.querySelectorAll(".item")) if (!known.has(item.dataset.item)) list.append(document.adoptNode(item));
  const after = page.querySelector("#next");
  if (after) next.href = after.href;
  else next.closest("p").remove();
  loading = false;
}

async function note() {
  const author = items()[current]?.dataset.author;
  const text = author && prompt("A note about the author");
  if (!text) return;
  const { ok } = await post(list.dataset.note, [["user", author], ["text", text]]);
  toast(ok ? "Noted" : "This did not work.");
}

const terms = { 1: "1", 2: "7", 3: "30", 4: "ever" };
const saved = (n) => localStorage.getItem(`view ${here} ${n}`);

function digit(n) {
  const mode = pendingKey;
  pendingKey = null;
  if (mode === "s") return terms[n] && decide("suspend", [["term", terms[n]]]);
  if (mode === "v") {
    localStorage.setItem(`view ${here} ${n}`, location.search);
    return toast(`This view is under ${n}.`);
  }
  const view = saved(n) ?? document.querySelector(`[data-view="${n}"]`)?.getAttribute("href");
  if (view !== null && view !== undefined) location.href = view.startsWith("?") || view === "" ? here + view : view;
}

const keys = {
  j: () => focus(current + 1),
  k: () => focus(current - 1),
  a: () => decide("approve"),
  r: () => decide("remove"),
  w: () => decide("warn"),
  s: () => ((pendingKey = "s"), toast("Suspend for: 1 = 1 day, 2 = 7 days, 3 = 30 days, 4 = ever")),
  v: () => ((pendingKey = "v"), toast("Save this view under which digit?")),
  e: () => items()[current]?.querySelector("[name=reason]")?.focus(),
  n: note,
  x: () => select(false),
  X: () => select(true),
  "*": () => document.querySelector("#all")?.click(),
  z: undo,
  i: () => items()[current]?.querySelectorAll("[data-show]").forEach((button) => button.click()),
  "/": () => document.querySelector("#search").focus(),
  "?": () => document.querySelector("#help").showModal(),
};

// Back from the reason to the item, to decide with a key.
list.addEventListener("keydown", (event) => {
  if (!event.target.matches("[name=reason]") || !["Enter", "Escape"].includes(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  focus(items().indexOf(event.target.closest(".item")));
});

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = /^[1-9]$/.test(event.key) ? () => digit(Number(event.key)) : keys[event.key];
  if (!act) return;
  event.preventDefault();
  if (!/^[1-9sv]$/.test(event.key)) pendingKey = null;
  act();
});

list.addEventListener("click", (event) => {
  if (!event.target.matches("[data-show]")) return;
  const image = event.target.previousElementSibling;
  image.classList.add("shown");
  image.alt = "Attached image";
  event.target.remove();
});

list.addEventListener("submit", (event) => {
  event.preventDefault();
  const item = event.target.closest(".item");
  for (const other of items()) other.classList.remove("selected");
  current = items().indexOf(item);
  const term = event.target.querySelector("[name=term]")?.value;
  decide(event.submitter.value, event.submitter.value === "suspend" ? [["term", term]] : []);
});

/** The lowest number so far: what comes on top of it is not on this page. */
let fewest = Infinity;
const live = new EventSource(list.dataset.live);
live.addEventListener("open-items", (event) => {
  const { open, appeals, waiting } = JSON.parse(event.data);
  document.querySelector("#open").textContent = open;
  document.querySelector("#appeals").textContent = appeals;
  if (items().length === 0 && waiting > 0 && !("filtered" in list.dataset)) location.reload();
  fewest = Math.min(fewest, waiting);
  document.querySelector("#fresh").hidden = waiting <= fewest;
});

focus(0);
