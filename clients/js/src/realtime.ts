// Chat as it happens. The server keeps no backlog for a socket: after a gap the client fetches what was missed and
// delivers it before anything newer, each message once.
import { io, type Socket } from "socket.io-client";
import type { Client } from "./client.js";
import { Cursors, inOrder } from "./cursors.js";
import { SERVER_EVENTS, type ChatMessage, type Events, type ServerEvents } from "./events.js";

export type { ChatMessage, Events } from "./events.js";

type Listener = (payload: never) => void;
type Held = [name: keyof ServerEvents, payload: unknown];

/** The longest pause between two attempts. */
const MAX_PAUSE = 30_000;

export class Realtime {
  readonly #client: Client;
  readonly #socket: Socket;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #cursors = new Cursors();
  /** Conversations on the screen, with their open threads. */
  readonly #joined = new Map<string, Set<string>>();
  #hasStarted = false;
  /** Events that wait until missed messages are delivered. */
  #held: Held[] | null = null;
  #token: string | null = null;
  #failures = 0;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: Client) {
    this.#client = client;
    const { origin, pathname } = new URL(client.url);
    this.#socket = io(origin, {
      path: `${pathname.replace(/\/$/, "")}/socket.io/`,
      query: { projectId: client.projectId },
      forceNew: true,
      auth: (pass) => void this.#authenticate(pass),
    });
    this.#socket.on("connect", () => void this.#arrive());
    this.#socket.on("connect_error", (error) => {
      // Otherwise nobody answered, and the socket tries again by itself.
      if (!this.#socket.active) void this.#recover(error);
    });
    this.#socket.on("disconnect", (reason) => {
      this.#held = null;
      this.#emit("disconnected", { reason });
      if (reason === "io server disconnect") this.#reconnect();
    });
    for (const name of SERVER_EVENTS) this.#socket.on(name, (payload) => this.#receive(name, payload));
  }

  /** Returns a function that removes the listener. */
  on<Name extends keyof Events>(name: Name, listener: (payload: Events[Name]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Shows who is typing in a conversation; and, with the id of a message, resumes its thread too. */
  join(conversationId: string, thread?: string): void {
    const threads = this.#joined.get(conversationId) ?? new Set();
    this.#joined.set(conversationId, thread ? threads.add(thread) : threads);
    if (this.#socket.connected) this.#socket.emit("join:conversation", { conversationId });
  }

  leave(conversationId: string): void {
    this.#joined.delete(conversationId);
    if (this.#socket.connected) this.#socket.emit("leave:conversation", { conversationId });
  }

  /** Repeat it every two seconds while the user types. */
  startTyping(conversationId: string): void {
    this.#socket.volatile.emit("typing:start", { conversationId });
  }

  stopTyping(conversationId: string): void {
    this.#socket.volatile.emit("typing:stop", { conversationId });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#socket.disconnect();
  }

  async #authenticate(pass: (auth: object) => void): Promise<void> {
    this.#token = await this.#client.session.accessToken().catch(() => this.#token);
    pass(this.#token ? { token: this.#token } : {});
  }

  async #arrive(): Promise<void> {
    const held: Held[] = [];
    this.#held = held;
    for (const conversationId of this.#joined.keys()) this.#socket.emit("join:conversation", { conversationId });
    let missed: ChatMessage[] = [];
    try {
      if (this.#hasStarted) missed = await this.#cursors.missed(this.#client, this.#threads());
      else await this.#cursors.start(this.#client);
    } catch (error) {
      if (this.#held !== held) return;
      // Nothing is delivered past the gap: what is held now is missed and fetched next time.
      this.#socket.disconnect();
      this.#emit("error", error);
      this.#reconnect();
      return;
    }
    // Otherwise a later connection has taken over.
    if (this.#held === held) this.#resume(missed, held);
  }

  #resume(missed: ChatMessage[], held: Held[]): void {
    this.#held = null;
    this.#failures = 0;
    // Cursors only move forward: what was heard meanwhile, such as a reply in another thread, may be older than what was missed.
    const heard = held.flatMap(([name, payload]) => (name === "message:created" ? [payload as ChatMessage] : []));
    for (const message of inOrder([...missed, ...heard])) this.#deliver("message:created", message);
    if (this.#hasStarted) this.#emit("resumed", { messages: missed.length });
    else this.#emit("connected", undefined);
    this.#hasStarted = true;
    for (const [name, payload] of held) if (name !== "message:created") this.#deliver(name, payload);
  }

  #threads(): { conversationId: string; parentId: string }[] {
    const threads = [...this.#joined].map(([conversationId, parents]) => [...parents].map((parentId) => ({ conversationId, parentId })));
    return threads.flat();
  }

  /** The server refused the connection: because of the token, or for another reason. */
  async #recover(error: Error): Promise<void> {
    try {
      if (this.#token) await this.#client.session.renew(this.#token);
      if (!(await this.#client.session.user())) {
        this.close();
        this.#emit("ended", undefined);
        return;
      }
    } catch {
      // The network again.
    }
    this.#emit("error", error);
    this.#reconnect();
  }

  /** At once, and then with exponential backoff. */
  #reconnect(): void {
    if (this.#isClosed) return;
    const pause = this.#failures === 0 ? 0 : Math.min(1000 * 2 ** (this.#failures - 1), MAX_PAUSE);
    this.#failures += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#socket.connect(), pause);
  }

  #receive(name: keyof ServerEvents, payload: unknown): void {
    if (this.#held) this.#held.push([name, payload]);
    else this.#deliver(name, payload);
  }

  #deliver(name: keyof ServerEvents, payload: unknown): void {
    if (name === "message:created" && !this.#cursors.passed(payload as ChatMessage)) return;
    this.#emit(name, payload as ServerEvents[typeof name]);
  }

  #emit<Name extends keyof Events>(name: Name, payload: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        listener(payload as never);
      } catch (error) {
        // A mistake of one listener is shown, and takes nothing from the others.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}

export function connect<Own>(client: Client<Own>): Realtime {
  return new Realtime(client as unknown as Client);
}
