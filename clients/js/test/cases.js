// What the client promises, in Node and in browsers alike: each case gets the client's modules, a server and what a test
// may do to it, and throws when a promise is broken.

function equal(actual, expected, what = "") {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${what} is ${one}, not ${other}`);
}

async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it was not refused");
}

/** Waits for what must happen soon. */
async function until(isTrue, what) {
  for (let tries = 0; tries < 500; tries++) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`it did not happen: ${what}`);
}

class MemoryStorage extends Map {
  getItem = (key) => this.get(key) ?? null;
  setItem = (key, value) => this.set(key, value);
  removeItem = (key) => this.delete(key);
}

/** Requests to a path, while `run` runs. */
async function counted(path, run) {
  const { fetch } = globalThis;
  let count = 0;
  globalThis.fetch = (url, init) => {
    count += Number(String(url).endsWith(path));
    return fetch(url, init);
  };
  try {
    return [await run(), count];
  } finally {
    globalThis.fetch = fetch;
  }
}

const RENEWAL = "/auth/request-new-access-token";
const PASSWORD = "correct horse";
let users = 0;

async function signedUp({ townhall, server }, options = {}) {
  const client = townhall.createClient({ ...server, ...options });
  const name = `${options.name ?? "user"}${Date.now()}x${users++}`;
  const user = await client.signUp({ email: `${name}@example.com`, password: PASSWORD, username: name });
  return { client, user };
}

async function conversationOf(one, other) {
  return one.client.post("/chat/conversations", { body: { type: "group", memberIds: [other.user.id] } });
}

function say(client, conversationId, content, more = {}) {
  return client.post("/chat/conversations/{conversationId}/messages", { path: { conversationId }, body: { content, ...more } });
}

export const cases = {
  async "signs up, writes, reads and refuses with a code"(t) {
    const { client, user } = await signedUp(t);
    const made = await client.post("/entities", { body: { title: "Hello", metadata: { price: 5 } } });
    const path = { entityId: made.id };
    const found = await client.get("/entities/{entityId}", { path, query: { include: "user" } });
    equal([found.title, found.user.id], ["Hello", user.id]);
    // Types of filters count: 5 is no text.
    for (const [price, count] of [[5, 1], ["5", 0]]) {
      const query = { userId: user.id, metadataFilters: { includes: { price } } };
      equal((await client.get("/entities", { query })).data.length, count, JSON.stringify(price));
    }
    equal(await client.delete("/entities/{entityId}", { path }), undefined);
    const error = await refusal(client.get("/entities/{entityId}", { path }));
    equal([error instanceof t.townhall.TownhallError, error.status, error.code], [true, 404, "entity/not-found"]);
  },

  async "keeps the session in a storage"(t) {
    const storage = new MemoryStorage();
    const { client, user } = await signedUp(t, { storage });
    const reloaded = t.townhall.createClient({ ...t.server, storage });
    equal((await reloaded.session.user()).id, user.id);
    await reloaded.patch("/users/{userId}", { path: { userId: user.id }, body: { bio: "here" } });
    const seen = [];
    client.session.onChange((now) => seen.push(now));
    await client.signOut();
    equal([seen, storage.size, await client.session.user()], [[null], 0, null]);
    equal((await refusal(client.get("/app-notifications/count"))).status, 401);
    await client.signIn({ email: user.email, password: PASSWORD });
    equal([seen[1].id, await client.get("/app-notifications/count")], [user.id, 0]);
  },

  async "renews an expired token once for many requests"(t) {
    const { client } = await signedUp(t);
    await t.advance(2 * 60 * 60);
    const [counts, renewals] = await counted(RENEWAL, () =>
      Promise.all(Array.from({ length: 10 }, () => client.get("/app-notifications/count"))),
    );
    equal([counts, renewals], [Array(10).fill(0), 1]);
  },

  async "renews a token before it expires, whatever the clock says"(t) {
    const { client, user } = await signedUp(t);
    const { now } = Date;
    // The token lasts for 30 minutes. An open read with an expired one would succeed as nobody's.
    const at = async (minutes) => {
      Date.now = () => now() + minutes * 60_000;
      const [, renewals] = await counted(RENEWAL, () => client.get("/users/{userId}", { path: { userId: user.id } }));
      return renewals;
    };
    try {
      equal([await at(29), await at(29.9), await at(30)], [0, 1, 0]);
    } finally {
      Date.now = now;
    }
  },

  async "tabs share a session"(t) {
    const storage = new MemoryStorage();
    const { client: one } = await signedUp(t, { storage });
    const other = t.townhall.createClient({ ...t.server, storage });
    await other.session.user();
    await t.advance(2 * 60 * 60);
    await one.get("/app-notifications/count");
    // The refresh token that the other tab has in memory would now end the session.
    await t.advance(5 * 60);
    const [, renewals] = await counted(RENEWAL, () => other.get("/app-notifications/count"));
    equal(renewals, 0);
    await t.advance(2 * 60 * 60);
    const both = await counted(RENEWAL, () => Promise.all([one, other].map((client) => client.get("/app-notifications/count"))));
    equal(both, [[0, 0], t.hasLocks ? 1 : both[1]]);
    // Somebody else signs in on one of them.
    const seen = [];
    other.session.onChange((now) => seen.push(now?.id));
    await t.advance(2 * 60 * 60);
    const { user } = await signedUp(t, { storage });
    await other.get("/app-notifications/count");
    equal(seen, [user.id]);
  },

  async "a session that was ended elsewhere is over"(t) {
    const storage = new MemoryStorage();
    const { client, user } = await signedUp(t, { storage });
    const thief = t.townhall.createClient({ ...t.server, storage: new MemoryStorage(storage) });
    await thief.signOut();
    const seen = [];
    client.session.onChange((now) => seen.push(now));
    await t.advance(2 * 60 * 60);
    const error = await refusal(client.patch("/users/{userId}", { path: { userId: user.id }, body: { bio: "x" } }));
    equal([error.status, error.code, seen, storage.size], [403, null, [null], 0]);
  },

  async "a session outlives a failing network"(t) {
    const { client } = await signedUp(t);
    await t.advance(2 * 60 * 60);
    const { fetch } = globalThis;
    globalThis.fetch = (url, init) => (String(url).endsWith(RENEWAL) ? Promise.reject(new TypeError("no network")) : fetch(url, init));
    const error = await refusal(client.get("/app-notifications/count")).finally(() => (globalThis.fetch = fetch));
    equal(error.message, "no network");
    equal(await client.get("/app-notifications/count"), 0);
  },

  async "goes through lists page by page"(t) {
    const { client, user } = await signedUp(t);
    const post = (title) => client.post("/entities", { body: { title } });
    for (let index = 0; index < 7; index++) await post(`entity ${index}`);
    const query = { userId: user.id, limit: 3 };
    const titles = [];
    for await (const { title } of client.items("/entities", { query })) {
      titles.push(title);
      // What is written meanwhile moves the others to later pages, and repeats none of them.
      if (titles.length === 3) await post("meanwhile");
    }
    equal(titles.filter((title) => title !== "meanwhile").sort(), [0, 1, 2, 3, 4, 5, 6].map((index) => `entity ${index}`));
    const sizes = [];
    for await (const page of client.pages("/entities", { query })) sizes.push(page.length);
    equal(sizes, [3, 3, 2]);
  },

  async "goes through messages and conversations"(t) {
    const [ada, ben] = [await signedUp(t), await signedUp(t)];
    const groups = [];
    for (let index = 0; index < 3; index++) {
      groups.push(await conversationOf(ada, ben));
      await t.advance?.(1);
    }
    const said = [];
    for (let index = 0; index < 7; index++) said.push((await say(ada.client, groups[0].id, `${index}`)).content);
    const path = "/chat/conversations/{conversationId}/messages";
    for (const [sort, expected] of [["desc", said.toReversed()], ["asc", said]]) {
      const seen = [];
      const request = { path: { conversationId: groups[0].id }, query: { limit: 3, sort } };
      for await (const { content } of ben.client.items(path, request)) seen.push(content);
      equal(seen, expected);
    }
    const ids = [];
    for await (const { id } of ben.client.items("/chat/conversations", { query: { limit: 2 } })) ids.push(id);
    equal(ids.sort(), groups.map(({ id }) => id).sort());
  },

  async "uploads and tells how far it is"(t) {
    const { client } = await signedUp(t);
    const bytes = new Uint8Array(1_500_000).fill(97);
    const file = new File([bytes], "a.txt", { type: "text/plain" });
    const seen = [];
    const stored = await client.post("/storage", {
      body: { file, pathParts: ["a", "b"] },
      onProgress: (progress) => seen.push(progress),
    });
    const { loaded, total } = seen.at(-1);
    equal([loaded, total > bytes.length, total < bytes.length + 2000], [total, true, true]);
    equal(seen.every((one, index) => index === 0 || seen[index - 1].loaded <= one.loaded), true);
    const { pathname, search } = new URL(stored.publicPath);
    equal((await (await fetch(`${t.server.url}${pathname}${search}`)).text()).length, bytes.length);
    // Without anybody who looks, and with further fields.
    const withFile = await client.post("/entities", { body: { title: "t", metadata: { a: 1 }, "files.files": [file, file] } });
    equal([withFile.metadata, withFile.files.length], [{ a: 1 }, 2]);
    const stopping = new AbortController();
    const stopped = client.post("/storage", { body: { file }, onProgress: () => stopping.abort(), signal: stopping.signal });
    equal((await refusal(stopped)).name, "AbortError");
  },

  async "acts with a key"(t) {
    const { user } = await signedUp(t);
    const client = t.townhall.createClient({ ...t.server, key: t.serviceKey });
    if (t.isBrowser) {
      equal((await refusal(client.post("/entities", { body: { title: "t" } }))).code, "auth/key-in-browser");
      return;
    }
    const made = await client.post("/entities", { body: { title: "t", userId: user.id } });
    equal(made.userId, user.id);
  },

  async "hears messages, typing and changes"(t) {
    const [ada, ben] = [await signedUp(t), await signedUp(t)];
    const { id: conversationId } = await conversationOf(ada, ben);
    const [chat, others] = [t.realtime.connect(ben.client), t.realtime.connect(ada.client)];
    const heard = [];
    chat.on("message:created", ({ content }) => heard.push(content));
    chat.on("message:reaction", ({ emoji, delta }) => heard.push([emoji, delta]));
    chat.on("typing:start", ({ userId }) => heard.push(["typing", userId]));
    await Promise.all([chat, others].map((one) => new Promise((resolve) => one.on("connected", resolve))));
    chat.join(conversationId);
    others.join(conversationId);
    const { id: messageId } = await say(ada.client, conversationId, "hello");
    const path = { conversationId, messageId };
    await ada.client.post("/chat/conversations/{conversationId}/messages/{messageId}/reactions", { path, body: { emoji: "👋" } });
    await until(() => heard.length === 2, heard);
    equal(heard, ["hello", ["👋", 1]]);
    await until(() => {
      others.startTyping(conversationId);
      return heard.length > 2;
    }, "typing");
    equal(heard[2], ["typing", ada.user.id]);
    chat.close();
    others.close();
  },

  async "resumes with every message that it missed, once"(t) {
    const ada = await signedUp(t);
    const ben = await signedUp(t, { url: t.line.url });
    const { id: conversationId } = await conversationOf(ada, ben);
    const first = await say(ada.client, conversationId, "before");
    const heard = [];
    const chat = t.realtime.connect(ben.client);
    chat.on("message:created", ({ content }) => heard.push(content));
    chat.on("resumed", ({ messages }) => heard.push(messages));
    const errors = [];
    chat.on("error", ({ message }) => errors.push(message));
    await new Promise((resolve) => chat.on("connected", resolve));
    chat.join(conversationId, first.id);
    await say(ada.client, conversationId, "live");
    await until(() => heard.length === 1, "live");
    await t.line.cut();
    await say(ada.client, conversationId, "missed 1");
    await say(ada.client, conversationId, "missed 2");
    await say(ada.client, conversationId, "in a thread", { parentMessageId: first.id });
    const { id: another } = await conversationOf(ada, ben);
    await say(ada.client, another, "elsewhere");
    // The first attempt to fetch them fails.
    const { fetch } = globalThis;
    globalThis.fetch = (url, init) => {
      if (!String(url).startsWith(`${t.line.url}/v8/${t.server.projectId}/chat/conversations?`)) return fetch(url, init);
      globalThis.fetch = fetch;
      return Promise.reject(new TypeError("no network"));
    };
    await t.line.heal();
    await until(() => heard.includes(4), "the end of the gap");
    equal(errors, ["no network"]);
    await say(ada.client, conversationId, "live again");
    await until(() => heard.includes("live again"), "live again");
    // Those of one conversation are in their order.
    const ofFirst = heard.filter((one) => one !== "elsewhere");
    equal(ofFirst.slice(0, 1).concat(ofFirst.slice(-2)), ["live", 4, "live again"]);
    equal([...heard].sort(), [4, "elsewhere", "in a thread", "live", "live again", "missed 1", "missed 2"]);
    equal(heard.indexOf("missed 1") < heard.indexOf("missed 2"), true);
    chat.close();
  },

  async "connects with an expired token, and not without a session"(t) {
    const { client } = await signedUp(t);
    await t.advance(2 * 60 * 60);
    const chat = t.realtime.connect(client);
    await new Promise((resolve) => chat.on("connected", resolve));
    // The server closes the sockets of a session that is over.
    const ended = new Promise((resolve) => chat.on("ended", resolve));
    await client.signOut();
    await ended;
  },
};
