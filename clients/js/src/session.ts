// Who is signed in. Refresh tokens are used once: presenting an old one ends the session, so however many requests
// and tabs find their access token expired, only one of them renews it.
import { TownhallError } from "./error.js";
import type { Operations, ReplyOf } from "./types.js";

/** `localStorage`, or anything like it; it may be asynchronous. */
export interface SessionStorage {
  getItem(key: string): string | null | Promise<string | null>;
  setItem(key: string, value: string): void | Promise<void>;
  removeItem(key: string): void | Promise<void>;
}

export type SignedIn = ReplyOf<Operations, "/auth/sign-in", "post">;
type Renewed = ReplyOf<Operations, "/auth/request-new-access-token", "post">;
export type AuthUser = SignedIn["user"];

interface Stored {
  accessToken: string;
  refreshToken: string | null;
  user: AuthUser;
  /** By the clock of this machine, which may be wrong: only the time that passes counts. */
  renewAt: number;
}

/** How long before it expires a token is renewed. Reads with an expired token succeed, but as nobody's. */
const MARGIN = 30_000;

/** When to renew a token that was received just now. */
function renewalOf(accessToken: string): number {
  try {
    const [, payload = ""] = accessToken.split(".");
    const { exp, iat } = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")));
    const lifetime = (exp - iat) * 1000;
    return Date.now() + Math.max(lifetime - MARGIN, lifetime / 2);
  } catch {
    return Infinity;
  }
}

function storedOf({ accessToken, refreshToken = null, user }: SignedIn): Stored {
  return { accessToken, refreshToken, user, renewAt: renewalOf(accessToken) };
}

export class Session {
  #stored: Stored | null = null;
  #loading: Promise<void> | null = null;
  #renewing: Promise<void> | null = null;
  readonly #listeners = new Set<(user: AuthUser | null) => void>();

  constructor(
    private readonly name: string,
    private readonly storage: SessionStorage | undefined,
    private readonly request: (refreshToken: string) => Promise<Renewed>,
  ) {}

  async user(): Promise<AuthUser | null> {
    await this.#load();
    return this.#stored?.user ?? null;
  }

  async refreshToken(): Promise<string | null> {
    await this.#load();
    return this.#stored?.refreshToken ?? null;
  }

  /** A token that is not about to expire, or null if nobody is signed in. */
  async accessToken(): Promise<string | null> {
    await this.#load();
    if (this.#stored && Date.now() >= this.#stored.renewAt) await this.renew(this.#stored.accessToken);
    return this.#stored?.accessToken ?? null;
  }

  /** Replaces a token unless somebody else has replaced it already. Afterwards the session is new, or over. */
  async renew(refused: string): Promise<void> {
    if (this.#stored?.accessToken !== refused) return;
    this.#renewing ??= this.#renew(refused).finally(() => (this.#renewing = null));
    await this.#renewing;
  }

  async start(signedIn: SignedIn): Promise<void> {
    await this.#load();
    await this.#keep(storedOf(signedIn));
    this.#announce();
  }

  async end(): Promise<void> {
    await this.#load();
    if (!this.#stored) return;
    await this.#keep(null);
    this.#announce();
  }

  /** Calls the listener with the user at every sign-in, and with null when the session is over. */
  onChange(listener: (user: AuthUser | null) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #renew(refused: string): Promise<void> {
    const before = this.#stored?.user.id;
    const locks = this.storage ? globalThis.navigator?.locks : undefined;
    // Other tabs wait here, and then find the new token in the storage.
    if (locks) await locks.request(this.name, () => this.#renewAlone(refused));
    else await this.#renewAlone(refused);
    // It may be over; or somebody else has signed in on another tab.
    if (this.#stored?.user.id !== before) this.#announce();
  }

  async #renewAlone(refused: string): Promise<void> {
    if (this.storage) {
      this.#stored = await this.#read();
      if (this.#stored?.accessToken !== refused) return;
    }
    const before = this.#stored;
    if (!before?.refreshToken) return this.#keep(null);
    try {
      const renewed = await this.request(before.refreshToken);
      await this.#keep(renewed.accessToken === null ? null : storedOf(renewed));
    } catch (error) {
      // Without a network, or when the server is busy, the session is still there.
      const isOver = error instanceof TownhallError && [400, 401, 403].includes(error.status);
      if (!isOver) throw error;
      await this.#keep(null);
    }
  }

  #load(): Promise<void> {
    this.#loading ??= (async () => {
      if (this.storage) this.#stored = await this.#read();
    })();
    return this.#loading;
  }

  async #read(): Promise<Stored | null> {
    const text = await this.storage?.getItem(this.name);
    try {
      return text ? (JSON.parse(text) as Stored) : null;
    } catch {
      // Somebody else's text is no session.
      return null;
    }
  }

  async #keep(stored: Stored | null): Promise<void> {
    this.#stored = stored;
    if (stored) await this.storage?.setItem(this.name, JSON.stringify(stored));
    else await this.storage?.removeItem(this.name);
  }

  #announce(): void {
    for (const listener of this.#listeners) listener(this.#stored?.user ?? null);
  }
}
