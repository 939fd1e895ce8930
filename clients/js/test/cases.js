// What the client promises, in Node and in browsers alike: each case gets the client's modules, a server and what a test
// may do to it, and throws when a promise is broken.

import { chatCases } from "./chat_cases.js";
import { counted, equal, MemoryStorage, PASSWORD, refusal, RENEWAL, signedUp } from "./checks.js";

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

  ...chatCases,
};
