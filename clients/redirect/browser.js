// Points published clients of this API at another server: what they send to their own address by fetch, XMLHttpRequest or
// WebSocket goes to yours. Load it before the client; docs/existing-clients.md says how.
//
// With the id of the project it also repairs what these clients get wrong: connection calls without the project, a
// version that is there twice, account calls without a token, and tokens that nobody renews.

const PUBLISHED = "https://api.replyke.com";
const UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
const DOUBLED = new RegExp(`^((?:/api)?/(v\\d)/${UUID})/\\2(?=/)`);
const PROJECTLESS = new RegExp(`^((?:/api)?/v\\d)/(connections(?:/.*)?|users/${UUID}/connection(?:s|s-count)?)$`);
/** Operations about one's own account, which version 6 calls without its token. */
const ACCOUNT = /\/auth\/(change-password|set-password|send-verification-email|(request|confirm)-account-deletion)$/;
const SESSION = /\/auth\/(sign-in|sign-up|sign-out|verify-external-user|request-new-access-token)$/;
const RENEWAL = /\/auth\/request-new-access-token$/;
const LEGACY = /^\/api\/v[56]\//;
const V7 = /^(\/api)?\/v7\//;

/** Where a request goes instead, or null if it is none of ours. */
export function addressOf(url, { server, projectId, from = PUBLISHED }) {
  const asked = parse(url);
  const published = new URL(from);
  const isOurs = asked?.host === published.host && (asked.protocol.startsWith("ws") || asked.protocol === published.protocol);
  if (!isOurs) return null;
  const to = new URL(server);
  const isSocket = asked.protocol.startsWith("ws");
  to.protocol = isSocket ? to.protocol.replace("http", "ws") : to.protocol;
  const path = projectId ? asked.pathname.replace(DOUBLED, "$1").replace(PROJECTLESS, `$1/${projectId}/$2`) : asked.pathname;
  to.pathname = to.pathname.replace(/\/$/, "") + path;
  to.search = asked.search;
  return to;
}

function parse(url) {
  try {
    return new URL(url, globalThis.location?.href);
  } catch {
    return null;
  }
}

/** What is known about the tokens of whoever is signed in. */
class Tokens {
  /** Tokens of this session that were replaced. */
  #stale = new Set();
  #access = null;
  #expires = Infinity;
  #refresh = null;
  #renewing = null;

  constructor(renew, key) {
    this.renew = renew;
    this.key = key;
  }

  /** The header to send: for account calls that have none, and for clients that do not know the newest token. */
  header(path, given) {
    const token = given?.replace(/^Bearer /, "");
    if (this.#stale.has(token)) return `Bearer ${this.#access}`;
    // Clients write these when nobody is signed in.
    const hasToken = token && token !== "null" && token !== "undefined";
    if (!hasToken && this.#access && ACCOUNT.test(path)) return `Bearer ${this.#access}`;
    return given ?? (this.key ? `Bearer ${this.key}` : null);
  }

  /** Remembers what an operation about the session replied. */
  learn(path, { accessToken = null, refreshToken = null }) {
    if (!SESSION.test(path)) return;
    if (!RENEWAL.test(path)) this.#stale.clear();
    else if (this.#access && accessToken !== this.#access) this.#stale.add(this.#access);
    this.#access = accessToken;
    this.#expires = expiryOf(accessToken);
    this.#refresh = RENEWAL.test(path) ? (refreshToken ?? this.#refresh) : refreshToken;
  }

  /** Operations that are open to everybody accept an expired token, but reply as to nobody. */
  hasExpired(token) {
    return token === this.#access && Date.now() >= this.#expires;
  }

  /** A newer token than the one that was refused, or null. */
  async replace(path, refused) {
    if (refused === this.#access) {
      this.#renewing ??= this.renew(path, this.#refresh).finally(() => (this.#renewing = null));
      await this.#renewing;
    }
    return this.#stale.has(refused) && this.#access ? `Bearer ${this.#access}` : null;
  }
}

/** When a token that came just now expires, by the clock of this machine. */
function expiryOf(token) {
  const [, payload = ""] = token?.split(".") ?? [];
  const { exp, iat } = payload ? json(atob(payload.replaceAll("-", "+").replaceAll("_", "/"))) : {};
  return exp > iat ? Date.now() + (exp - iat) * 1000 : Infinity;
}

function json(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** Clients of version 7 renew their token on 403 only; the server says 401. */
function statusOf(status, path, sentToken, body) {
  const { code = "auth/unauthorized" } = json(body);
  const isExpired = status === 401 && sentToken && V7.test(path) && code === "auth/unauthorized";
  return isExpired ? 403 : status;
}

/** `settings`: `server`, `projectId` (for repairs), `from` (the published address), `key` (for requests without a token). */
export function redirect(settings) {
  const plainFetch = globalThis.fetch;
  const renew = async (path, refreshToken) => {
    const url = addressOf(new URL(path.replace(/^(\/api\/v\d\/[^/]+)\/.*/, "$1/auth/request-new-access-token"), settings.from ?? PUBLISHED), settings);
    const body = JSON.stringify(refreshToken ? { refreshToken } : {});
    const init = { method: "POST", credentials: "include", headers: { "content-type": "application/json" }, body };
    const response = await plainFetch(url, init).catch(() => null);
    if (response?.ok) tokens.learn(url.pathname, await response.json());
  };
  const tokens = new Tokens(renew, settings.key);
  redirectFetch(plainFetch, settings, tokens);
  if (globalThis.XMLHttpRequest) redirectXhr(globalThis.XMLHttpRequest.prototype, settings, tokens);
  if (globalThis.WebSocket) {
    globalThis.WebSocket = class extends globalThis.WebSocket {
      constructor(url, ...rest) {
        super(addressOf(url, settings) ?? url, ...rest);
      }
    };
  }
  return tokens;
}

function redirectFetch(plainFetch, settings, tokens) {
  globalThis.fetch = async (input, init) => {
    const to = addressOf(input instanceof Request ? input.url : input, settings);
    if (!to) return plainFetch(input, init);
    const request = new Request(input, init);
    const { method, credentials, signal, cache, redirect, referrerPolicy } = request;
    const body = /^(GET|HEAD)$/.test(method) ? undefined : await request.arrayBuffer();
    const send = (authorization) => {
      const headers = new Headers(request.headers);
      if (authorization) headers.set("authorization", authorization);
      return plainFetch(to, { method, credentials, signal, cache, redirect, referrerPolicy, body, headers });
    };
    if (!settings.projectId) return send(settings.key && !request.headers.has("authorization") ? `Bearer ${settings.key}` : null);
    let header = tokens.header(to.pathname, request.headers.get("authorization"));
    const renewed = async () => {
      const isOurs = header && LEGACY.test(to.pathname) && !SESSION.test(to.pathname);
      return isOurs ? tokens.replace(to.pathname, header.slice("Bearer ".length)) : null;
    };
    if (header && tokens.hasExpired(header.slice("Bearer ".length))) header = (await renewed()) ?? header;
    let response = await send(header);
    const isText = !response.headers.get("content-type")?.includes("json");
    const newer = response.status === 403 && isText ? await renewed() : null;
    if (newer) response = await send(newer);
    return repaired(response, to.pathname, header, tokens);
  };
}

async function repaired(response, path, header, tokens) {
  if (response.ok && SESSION.test(path)) tokens.learn(path, json(await response.clone().text()));
  if (response.status !== 401) return response;
  const body = await response.text();
  const { statusText, headers } = response;
  return new Response(body, { status: statusOf(401, path, header, body), statusText, headers });
}

/** Reading the text of a reply that was asked for as something else throws. */
function textOf(xhr) {
  return xhr.responseType === "" || xhr.responseType === "text" ? xhr.responseText : "";
}

function redirectXhr(prototype, settings, tokens) {
  const { open, setRequestHeader, send } = prototype;
  const status = Object.getOwnPropertyDescriptor(prototype, "status").get;
  const redirected = new WeakMap();
  prototype.open = function (method, url, ...rest) {
    const to = addressOf(url, settings);
    redirected.delete(this);
    if (to && settings.projectId) redirected.set(this, { path: to.pathname, header: null });
    return open.call(this, method, to ?? url, ...rest);
  };
  prototype.setRequestHeader = function (name, value) {
    const request = redirected.get(this);
    if (request && name.toLowerCase() === "authorization") request.header = value;
    else setRequestHeader.call(this, name, value);
  };
  prototype.send = function (body) {
    const request = redirected.get(this);
    if (request) {
      request.header = tokens.header(request.path, request.header);
      if (request.header) setRequestHeader.call(this, "authorization", request.header);
      this.addEventListener("load", () => {
        if (status.call(this) < 300) tokens.learn(request.path, json(textOf(this)));
      });
    }
    return send.call(this, body);
  };
  Object.defineProperty(prototype, "status", {
    configurable: true,
    enumerable: true,
    get() {
      const request = redirected.get(this);
      const now = status.call(this);
      return request ? statusOf(now, request.path, request.header, textOf(this)) : now;
    },
  });
}
