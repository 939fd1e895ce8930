// A socket of one user, in the protocol of Socket.IO over a WebSocket: what it hears is listed.
import { remember, signIn } from "./demo.js";

const [form, sending] = ["#connect", "#send"].map((id) => document.querySelector(id));
const field = (name) => form.elements.namedItem(name);
const keep = remember(form, ["credential", "projectId"]);
const list = document.querySelector(".events");
const most = 200;
let socket;

function say(state) {
  document.querySelector("#state").textContent = state;
  const isOpen = state === "connected";
  sending.querySelector("button").disabled = !isOpen;
  field("disconnect").disabled = state === "not connected";
}

/** Lists an event that came, or a message that went. */
function note(name, payload) {
  const item = document.createElement("li");
  const title = document.createElement("strong");
  title.textContent = `${new Date().toISOString().slice(11, 23)} ${name}`;
  item.append(title);
  if (payload !== undefined) {
    const text = document.createElement("pre");
    text.textContent = JSON.stringify(payload, null, 2);
    item.append(text);
  }
  list.prepend(item);
  while (list.children.length > most) list.lastChild.remove();
}

function receive(text) {
  const [kind, rest] = [text.slice(0, 2), text.slice(2)];
  if (text === "2") socket.send("3");
  else if (text.startsWith("0")) socket.send(`40${JSON.stringify({ token: field("credential").value })}`);
  else if (kind === "40") say("connected");
  else if (kind === "41") socket.close();
  else if (kind === "44") {
    note("refused", JSON.parse(rest));
    socket.close();
  } else if (kind === "42") note(...JSON.parse(rest));
}

function connect(event) {
  event.preventDefault();
  socket?.close();
  keep();
  const query = new URLSearchParams({ EIO: "4", transport: "websocket", projectId: field("projectId").value });
  const opened = new WebSocket(`${location.origin.replace(/^http/, "ws")}/socket.io/?${query}`);
  socket = opened;
  say("connecting");
  opened.addEventListener("message", ({ data }) => receive(data));
  opened.addEventListener("close", () => {
    if (socket === opened) say("not connected");
  });
}

function send(event) {
  event.preventDefault();
  const chosen = sending.elements.namedItem("message");
  const { key } = chosen.selectedOptions[0].dataset;
  const payload = key ? { [key]: sending.elements.namedItem("id").value } : {};
  socket.send(`42${JSON.stringify([chosen.value, payload])}`);
  note(`sent ${chosen.value}`, payload);
}

async function demo(name) {
  try {
    field("credential").value = await signIn(field("projectId").value, name);
    keep();
  } catch (error) {
    note(error.message);
  }
}

form.addEventListener("submit", connect);
sending.addEventListener("submit", send);
field("disconnect").addEventListener("click", () => socket?.close());
for (const button of form.querySelectorAll("[name=demo]")) button.addEventListener("click", () => demo(button.value));
