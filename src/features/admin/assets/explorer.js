// Fills in the commands below the form while it is filled in, and sends it.
import { remember, signIn } from "./demo.js";

const form = document.querySelector("#try");
const { method, path, url } = form.dataset;
const field = (name) => form.elements.namedItem(name);
const keep = remember(form, ["credential", "projectId"]);

function request() {
  let filled = path;
  const query = new URLSearchParams();
  for (const input of form.querySelectorAll("[data-in]")) {
    if (input.dataset.in === "path") filled = filled.replace(`{${input.name}}`, encodeURIComponent(input.value));
    if (input.dataset.in === "query" && input.value) query.append(input.name, input.value);
  }
  const headers = {};
  const credential = field("credential").value;
  if (credential) headers.Authorization = `Bearer ${credential}`;
  const body = field("body")?.value;
  if (body) headers["Content-Type"] = "application/json";
  const search = query.size > 0 ? `?${query}` : "";
  return { address: filled + search, headers, body };
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function show() {
  const { address, headers, body } = request();
  const flags = Object.entries(headers).map(([name, value]) => ` \\\n  -H ${quoted(`${name}: ${value}`)}`);
  if (body) flags.push(` \\\n  -d ${quoted(body)}`);
  document.querySelector("#curl").textContent = `curl -g -X ${method} ${quoted(url + address)}${flags.join("")}`;
  const options = { method, headers, ...(body && { body }) };
  document.querySelector("#fetch").textContent =
    `const reply = await fetch(${JSON.stringify(url + address)}, ${JSON.stringify(options, null, 2)});\nconsole.log(await reply.json());`;
  keep();
}

async function send(event) {
  event.preventDefault();
  const { address, headers, body } = request();
  const output = document.querySelector("#reply");
  try {
    const reply = await fetch(address, { method, headers, body });
    const text = await reply.text();
    let shown = text;
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // Not every reply is JSON.
    }
    output.textContent = `${reply.status} ${reply.statusText}\n\n${shown}`;
  } catch (error) {
    output.textContent = String(error);
  }
}

async function demo(name) {
  try {
    field("credential").value = await signIn(field("projectId")?.value, name);
  } catch (error) {
    document.querySelector("#reply").textContent = error.message;
  }
  show();
}

form.addEventListener("input", show);
form.addEventListener("submit", send);
for (const button of form.querySelectorAll("[name=demo]")) button.addEventListener("click", () => demo(button.value));
show();
