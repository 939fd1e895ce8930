// The load of scripts/test-rolling-restart: clients that send messages and sockets that listen, all through the proxy.
// Every client knows a message by its event or, after it has connected again, by fetching what it missed.
import { createInterface } from "node:readline";
import { io } from "socket.io-client";

const [base, project] = process.argv.slice(2);
const SENDERS = 8;
const LISTENERS = 12;
const CONVERSATIONS = 4;

const acknowledged = new Map();
const failures = [];
let requests = 0;
let running = true;

async function call(method, path, token, body) {
  requests += 1;
  const response = await fetch(`${base}/v8/${project}${path}`, {
    method,
    headers: { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 200)}`);
  return text && JSON.parse(text);
}

async function signUp(number) {
  const credentials = { email: `user${number}@example.com`, password: "correct horse battery", username: `user${number}` };
  const { accessToken, user } = await call("POST", "/auth/sign-up", undefined, credentials);
  return { token: accessToken, id: user.id };
}

/** All messages since the client was last connected, page by page from the newest. */
async function catchUp(listener) {
  for (const conversation of conversations) {
    let before = "";
    for (;;) {
      const page = await call("GET", `/chat/conversations/${conversation}/messages?limit=100${before}`, listener.user.token);
      const news = page.messages.filter((message) => !listener.known.has(message.id));
      news.forEach((message) => listener.known.add(message.id));
      listener.fetched += news.length;
      if (news.length === 0) break;
      // Messages of the same millisecond may be on the next page.
      const oldest = Math.min(...page.messages.map((message) => Date.parse(message.createdAt)));
      before = `&before=${encodeURIComponent(new Date(oldest + 1).toISOString())}`;
    }
  }
}

async function keepTrying(work) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= 20) throw error;
      failures.push(`catching up: ${error.message}`);
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}

function listen(user) {
  const listener = { user, known: new Set(), fetched: 0, heard: 0, connects: 0, catching: Promise.resolve() };
  const options = { transports: ["websocket"], reconnectionDelay: 50, reconnectionDelayMax: 500 };
  const socket = io(base, { ...options, forceNew: true, query: { projectId: project }, auth: { token: user.token } });
  socket.on("connect", () => {
    listener.connects += 1;
    listener.catching = listener.catching.then(() => keepTrying(() => catchUp(listener)));
  });
  socket.on("message:created", (message) => {
    listener.heard += 1;
    listener.known.add(message.id);
  });
  listener.socket = socket;
  return listener;
}

async function send(user, number) {
  for (let turn = 0; running; turn += 1) {
    const conversation = conversations[turn % conversations.length];
    try {
      const message = await call("POST", `/chat/conversations/${conversation}/messages`, user.token, { content: `${number}.${turn}` });
      acknowledged.set(message.id, message.content);
    } catch (error) {
      failures.push(error.message);
    }
    await new Promise((done) => setTimeout(done, 10));
  }
}

const users = [];
for (let number = 0; number < SENDERS + LISTENERS; number += 1) users.push(await signUp(number));
const conversations = [];
for (let number = 0; number < CONVERSATIONS; number += 1) {
  const memberIds = users.slice(1).map((user) => user.id);
  const made = await call("POST", "/chat/conversations", users[0].token, { type: "group", name: "Crew", memberIds });
  conversations.push(made.id);
}
const listeners = users.slice(SENDERS).map(listen);
while (listeners.some((listener) => listener.connects === 0)) await new Promise((done) => setTimeout(done, 20));
const senders = users.slice(0, SENDERS).map(send);
console.log("running");

// Until the script says that it is over.
for await (const line of createInterface({ input: process.stdin })) if (line === "stop") break;
running = false;
await Promise.all(senders);
// The last events are on their way.
const isMissing = (listener) => [...acknowledged.keys()].some((id) => !listener.known.has(id));
for (let wait = 0; wait < 100 && listeners.some(isMissing); wait += 1) await new Promise((done) => setTimeout(done, 100));
await Promise.all(listeners.map((listener) => listener.catching));

const stored = { known: new Set(), fetched: 0, user: users[0] };
await catchUp(stored);
const lost = [...acknowledged.keys()].filter((id) => !stored.known.has(id));
const missed = listeners.map((listener) => [...acknowledged.keys()].filter((id) => !listener.known.has(id)).length);
const sum = (name) => listeners.reduce((total, listener) => total + listener[name], 0);
console.log(
  JSON.stringify({
    requests,
    acknowledged: acknowledged.size,
    failed: failures.length,
    lost: lost.length,
    missed: missed.reduce((total, count) => total + count, 0),
    reconnects: sum("connects") - listeners.length,
    heard: sum("heard"),
    fetchedAfterReconnect: sum("fetched"),
  }),
);
failures.slice(0, 5).forEach((failure) => console.error(failure));
process.exit(lost.length || failures.length || missed.some(Boolean) ? 1 : 0);
