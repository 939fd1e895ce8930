// What the client promises about chat.
import { equal, signedUp, until } from "./checks.js";

async function conversationOf(one, other) {
  return one.client.post("/chat/conversations", { body: { type: "group", memberIds: [other.user.id] } });
}

function say(client, conversationId, content, more = {}) {
  return client.post("/chat/conversations/{conversationId}/messages", { path: { conversationId }, body: { content, ...more } });
}

export const chatCases = {
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
