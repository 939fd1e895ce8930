// How far the messages of each conversation were delivered. Every message of a conversation is later than the one
// before it, so a cursor is the time of the last one.
import type { Client } from "./client.js";
import type { ChatMessage } from "./events.js";

/** How far the clocks of two servers may be apart. */
const CLOCK_SKEW = 60_000;
const CONVERSATIONS = { query: { limit: 50 } };
const EPOCH = new Date(0).toISOString();

const before = (moment: string, by: number) => new Date(Math.max(0, Date.parse(moment) - by)).toISOString();

/** Sorts messages by their time. */
export const inOrder = (messages: ChatMessage[]) =>
  messages.sort((one, other) => (one.createdAt < other.createdAt ? -1 : Number(one.createdAt > other.createdAt)));

export class Cursors {
  readonly #of = new Map<string, string>();
  /** The cursor of conversations that have none: those that began after the start, or were quiet before it. */
  #start = EPOCH;
  #newest = EPOCH;

  /** From here on. */
  async start(client: Client): Promise<void> {
    const { conversations, hasMore } = await client.get("/chat/conversations", CONVERSATIONS);
    // The first message may be of the same millisecond as its conversation.
    for (const { id, lastMessageAt, createdAt } of conversations) this.#pass(id, lastMessageAt ?? before(createdAt, 1));
    // They come with the newest message first: those that were not listed have no newer one than the last that was.
    const listed = (hasMore && conversations.at(-1)?.lastMessageAt) || EPOCH;
    const recent = before(this.#newest, CLOCK_SKEW);
    this.#start = listed > recent ? listed : recent;
  }

  /** Notes that a message is delivered; false if it was before, or is older than the start: a server tells of messages a
   * little later than it stores them. */
  passed({ conversationId, createdAt }: ChatMessage): boolean {
    const cursor = this.#of.get(conversationId);
    if (cursor && createdAt <= cursor) return false;
    this.#pass(conversationId, createdAt);
    return true;
  }

  /** Messages since the cursors: of every conversation, and of these threads. Moves no cursor. */
  async missed(client: Client, threads: { conversationId: string; parentId: string }[]): Promise<ChatMessage[]> {
    const missed: ChatMessage[] = [];
    const oldest = before(this.#newest, CLOCK_SKEW);
    for await (const page of client.pages("/chat/conversations", CONVERSATIONS)) {
      for (const { id, lastMessageAt } of page) {
        if (lastMessageAt && lastMessageAt > this.#cursor(id)) missed.push(...(await this.#since(client, id)));
      }
      const { lastMessageAt } = page.at(-1) ?? {};
      if (!lastMessageAt || lastMessageAt < oldest) break;
    }
    for (const { conversationId, parentId } of threads) {
      missed.push(...(await this.#since(client, conversationId, parentId)));
    }
    return missed;
  }

  async #since(client: Client, conversationId: string, parentId?: string): Promise<ChatMessage[]> {
    const query = { after: this.#cursor(conversationId), sort: "asc" as const, limit: 100, ...(parentId && { parentId }) };
    const path = { conversationId };
    const found: ChatMessage[] = [];
    const all = client.items("/chat/conversations/{conversationId}/messages", { path, query });
    for await (const message of all) found.push(message);
    return found;
  }

  #cursor(conversationId: string): string {
    return this.#of.get(conversationId) ?? this.#start;
  }

  #pass(conversationId: string, at: string): void {
    const cursor = this.#of.get(conversationId);
    if (!cursor || at > cursor) this.#of.set(conversationId, at);
    if (at > this.#newest) this.#newest = at;
  }
}
