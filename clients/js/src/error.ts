/** A refusal of the server. `code` is for programs and never changes, `message` is for people and may. */
export class TownhallError extends Error {
  override readonly name = "TownhallError";

  constructor(
    readonly status: number,
    /** Such as `entity/not-found`; null for refusals in plain text: 401, 403 (the token) and 429. */
    readonly code: string | null,
    message: string,
    /** The whole body: some refusals have further fields. */
    readonly body: unknown,
    /** With 429 and 503: seconds to wait, if the server said so. */
    readonly retryAfter: number | null,
  ) {
    super(message);
  }

  static of(reply: Reply): TownhallError {
    const { status, body } = reply;
    const { code = null, error } = (typeof body === "object" && body ? body : {}) as { code?: string; error?: string };
    const retryAfter = Number.parseInt(reply.header("retry-after") ?? "", 10);
    const message = error ?? (typeof body === "string" && body ? body : `status ${status}`);
    return new TownhallError(status, code, message, body, Number.isNaN(retryAfter) ? null : retryAfter);
  }
}

/** What came back, however it was sent. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
  header(name: string): string | null;
}

/** An expired or revoked token gets 401 or 403 in plain text; a missing permission is JSON with a code. */
export function isRefusedToken({ status, body }: Reply): boolean {
  return (status === 401 || status === 403) && typeof body !== "object";
}
