// The client of one project: a typed request for every operation of the document, sent with the session's token.
import { isRefusedToken, TownhallError, type Reply } from "./error.js";
import { itemsOf, nextOf, type Query } from "./paging.js";
import { send } from "./send.js";
import { Session, type AuthUser, type SessionStorage, type SignedIn } from "./session.js";
import type { Arguments, ItemOf, ListPath, Method, Operations, PathOf, ReplyOf, RequestOf, Transfer } from "./types.js";

export interface ClientOptions {
  /** The address of the server, such as `https://community.example`. */
  url: string;
  projectId: string;
  /** Keeps the session: `localStorage` in a browser. Without it, the session is in memory only. */
  storage?: SessionStorage;
  /** A service or master key, on your own server only: it may do everything. There is no session then. */
  key?: string;
}

interface AnyRequest extends Transfer {
  path?: Record<string, unknown>;
  query?: Query;
  body?: unknown;
}

type BodyOf<Path extends PathOf<Operations, "post">> = RequestOf<Operations, Path, "post"> extends { body: infer Body } ? Body : never;

/** `Own` has the tables of a project: `paths` of what openapi-typescript makes of the project's document. */
export class Client<Own = {}> {
  readonly url: string;
  readonly projectId: string;
  readonly session: Session;
  readonly #key: string | undefined;

  constructor({ url, projectId, storage, key }: ClientOptions) {
    this.url = url.replace(/\/+$/, "");
    this.projectId = projectId;
    this.#key = key;
    const renew = (refreshToken: string) =>
      this.#call("post", "/auth/request-new-access-token", { body: { refreshToken } }, null);
    this.session = new Session(`townhall:${this.url}:${projectId}`, storage, async (refreshToken) => accepted(await renew(refreshToken)));
  }

  get<Path extends PathOf<Operations<Own>, "get">>(path: Path, ...[request]: Arguments<RequestOf<Operations<Own>, Path, "get">>) {
    return this.#send<ReplyOf<Operations<Own>, Path, "get">>("get", path, request);
  }

  post<Path extends PathOf<Operations<Own>, "post">>(path: Path, ...[request]: Arguments<RequestOf<Operations<Own>, Path, "post">>) {
    return this.#send<ReplyOf<Operations<Own>, Path, "post">>("post", path, request);
  }

  put<Path extends PathOf<Operations<Own>, "put">>(path: Path, ...[request]: Arguments<RequestOf<Operations<Own>, Path, "put">>) {
    return this.#send<ReplyOf<Operations<Own>, Path, "put">>("put", path, request);
  }

  patch<Path extends PathOf<Operations<Own>, "patch">>(path: Path, ...[request]: Arguments<RequestOf<Operations<Own>, Path, "patch">>) {
    return this.#send<ReplyOf<Operations<Own>, Path, "patch">>("patch", path, request);
  }

  delete<Path extends PathOf<Operations<Own>, "delete">>(path: Path, ...[request]: Arguments<RequestOf<Operations<Own>, Path, "delete">>) {
    return this.#send<ReplyOf<Operations<Own>, Path, "delete">>("delete", path, request);
  }

  /** The pages of a list, fetched as they are needed. What moved to a later page meanwhile is not repeated. */
  async *pages<Path extends ListPath<Operations<Own>>>(
    path: Path,
    ...[request]: Arguments<RequestOf<Operations<Own>, Path, "get">>
  ): AsyncGenerator<ItemOf<ReplyOf<Operations<Own>, Path, "get">>[], void, undefined> {
    const { query, ...rest } = (request ?? {}) as AnyRequest;
    const seen = new Set<unknown>();
    for (let asked: Query | null = query ?? {}; asked; ) {
      const reply = await this.#send<Record<string, unknown>>("get", path, { ...rest, query: asked });
      const items = itemsOf(reply).filter(({ id }) => id === undefined || !seen.has(id));
      for (const { id } of items) seen.add(id);
      if (items.length > 0) yield items as ItemOf<ReplyOf<Operations<Own>, Path, "get">>[];
      asked = nextOf(reply, asked);
    }
  }

  /** Every element of a list. */
  async *items<Path extends ListPath<Operations<Own>>>(
    path: Path,
    ...request: Arguments<RequestOf<Operations<Own>, Path, "get">>
  ): AsyncGenerator<ItemOf<ReplyOf<Operations<Own>, Path, "get">>, void, undefined> {
    for await (const page of this.pages(path, ...request)) yield* page;
  }

  async signUp(body: BodyOf<"/auth/sign-up">): Promise<AuthUser> {
    return this.#signedIn("/auth/sign-up", body);
  }

  async signIn(body: BodyOf<"/auth/sign-in">): Promise<AuthUser> {
    return this.#signedIn("/auth/sign-in", body);
  }

  /** Signs in with a token that your own server has signed. */
  async signInWithToken(userJwt: string): Promise<AuthUser> {
    return this.#signedIn("/auth/verify-external-user", { userJwt });
  }

  /** Ends the session here even if the server cannot be reached. */
  async signOut(): Promise<void> {
    const refreshToken = await this.session.refreshToken();
    await this.session.end();
    if (refreshToken) accepted(await this.#call("post", "/auth/sign-out", { body: { refreshToken } }, null));
  }

  async #signedIn(path: string, body: unknown): Promise<AuthUser> {
    const signedIn = accepted<SignedIn>(await this.#call("post", path, { body }, null));
    await this.session.start(signedIn);
    return signedIn.user;
  }

  async #send<Body>(method: Method, path: string, request: unknown): Promise<Body> {
    const asked = (request ?? {}) as AnyRequest;
    if (this.#key) return accepted(await this.#call(method, path, asked, this.#key));
    const token = await this.session.accessToken();
    const reply = await this.#call(method, path, asked, token);
    if (!token || !isRefusedToken(reply)) return accepted(reply);
    await this.session.renew(token);
    const renewed = await this.session.accessToken();
    return accepted(renewed ? await this.#call(method, path, asked, renewed) : reply);
  }

  #call(method: Method, path: string, { path: parameters, query, body, signal, onProgress }: AnyRequest, token: string | null) {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(parameters?.[name])));
    const search = searchOf(query ?? {});
    const url = `${this.url}/v8/${this.projectId}${filled}${search && `?${search}`}`;
    const encoded = encode(body);
    const headers = {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(typeof encoded === "string" && { "content-type": "application/json" }),
    };
    return send({ method: method.toUpperCase(), url, headers, body: encoded, signal, onProgress });
  }
}

function accepted<Body>(reply: Reply): Body {
  if (reply.status >= 400) throw TownhallError.of(reply);
  return reply.body as Body;
}

/** Filters and other values that are no text go as JSON text, which keeps their types. */
const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

function searchOf(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return new URLSearchParams(given.map(([name, value]) => [name, text(value)])).toString();
}

/** JSON, or a form if there is a file in it. */
function encode(body: unknown): string | FormData | undefined {
  if (body === undefined) return undefined;
  const fields = Object.entries(body as object).filter(([, value]) => value !== undefined);
  const listOf = (value: unknown) => (Array.isArray(value) && value.some(isFile) ? value : [value]);
  if (!fields.some(([, value]) => listOf(value).some(isFile))) return JSON.stringify(body);
  const form = new FormData();
  for (const [name, value] of fields) {
    for (const one of listOf(value)) form.append(name, isFile(one) ? one : text(one));
  }
  return form;
}

function isFile(value: unknown): value is Blob {
  return value instanceof Blob;
}

export function createClient<Own = {}>(options: ClientOptions): Client<Own> {
  return new Client<Own>(options);
}
