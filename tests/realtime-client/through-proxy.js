// What scripts/test-packages checks through a proxy: sockets by WebSocket and by polling, an upload, whose address the
// server sees, and that metrics stay closed.
import http from "node:http";
import https from "node:https";
import { io } from "socket.io-client";

const [base, project] = process.argv.slice(2);
const api = `${base}/v8/${project}`;

function check(holds, what) {
  if (!holds) throw new Error(what);
}

async function call(method, path, token, body) {
  const isForm = body instanceof FormData;
  const response = await fetch(api + path, {
    method,
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...(body && !isForm && { "content-type": "application/json" }) },
    body: isForm ? body : body && JSON.stringify(body),
  });
  const text = await response.text();
  check(response.ok, `${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
  return text && JSON.parse(text);
}

async function signUp(name) {
  const credentials = { email: `${name}@example.com`, password: "correct horse battery", username: name };
  const { accessToken, user } = await call("POST", "/auth/sign-up", undefined, credentials);
  return { token: accessToken, id: user.id };
}

function connect(user, transports) {
  return new Promise((resolve, reject) => {
    const options = { forceNew: true, reconnection: false, transports, query: { projectId: project }, auth: { token: user.token } };
    const socket = io(base, { ...options, rejectUnauthorized: false });
    socket.on("connect", () => resolve(socket));
    socket.on("connect_error", (error) => reject(new Error(`${transports}: ${error.message}`)));
  });
}

async function sockets(ada, grace) {
  const conversation = await call("POST", "/chat/conversations/direct", ada.token, { userId: grace.id });
  for (const transport of ["websocket", "polling"]) {
    const socket = await connect(grace, [transport]);
    check(socket.io.engine.transport.name === transport, `the socket speaks ${socket.io.engine.transport.name}`);
    const heard = new Promise((resolve) => socket.on("message:created", resolve));
    const late = setTimeout(() => { throw new Error(`${transport}: no event`); }, 10_000);
    await call("POST", `/chat/conversations/${conversation.id}/messages`, ada.token, { content: `by ${transport}` });
    const message = await heard;
    clearTimeout(late);
    check(message.content === `by ${transport}`, "the event is of another message");
    socket.disconnect();
  }
}

/** More than proxies accept by default. */
async function upload(user) {
  const bytes = new Uint8Array(8 * 1024 * 1024).fill(65);
  const form = new FormData();
  form.append("file", new Blob([bytes], { type: "text/plain" }), "large.txt");
  form.append("pathParts", JSON.stringify(["attachments"]));
  const stored = await call("POST", "/storage", user.token, form);
  check(stored.publicPath.startsWith(base), `the file's address is ${stored.publicPath}`);
  const read = await fetch(stored.publicPath);
  const content = new Uint8Array(await read.arrayBuffer());
  check(read.ok && content.length === bytes.length && content.every((byte) => byte === 65), "the file came back changed");
}

/** Requests left in the window, for a client with this address. */
function left(localAddress, headers = {}) {
  const { request } = base.startsWith("https") ? https : http;
  return new Promise((resolve, reject) => {
    const sent = request(`${api}/entities`, { localAddress, headers, rejectUnauthorized: false, agent: false }, (response) => {
      response.resume();
      response.on("end", () => resolve(Number(response.headers["x-ratelimit-remaining"])));
    });
    sent.on("error", reject).end();
  });
}

async function addresses() {
  const first = await left("127.0.0.2");
  check((await left("127.0.0.2")) === first - 1, "requests of one client are not counted together");
  check((await left("127.0.0.3")) === first, "two clients share a window: the server does not see their addresses");
  const spoofed = await left("127.0.0.2", { "x-forwarded-for": "203.0.113.9", forwarded: "for=203.0.113.9" });
  check(spoofed === first - 2, "the server believes an address that the client has made up");
}

async function metrics() {
  const { status } = await fetch(`${base}/metrics`);
  check(status === 404, `metrics are open to everybody: ${status}`);
}

const [ada, grace] = [await signUp("ada"), await signUp("grace")];
await sockets(ada, grace);
await upload(ada);
await addresses();
await metrics();
console.log("WebSocket, polling, upload, addresses, metrics: as they should be");
process.exit(0);
