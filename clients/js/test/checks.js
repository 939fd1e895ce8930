// What the cases have in common: comparing, waiting, counting requests, and users to do it with.

export function equal(actual, expected, what = "") {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${what} is ${one}, not ${other}`);
}

export async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it was not refused");
}

/** Waits for what must happen soon. */
export async function until(isTrue, what) {
  for (let tries = 0; tries < 1500; tries++) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`it did not happen: ${what}`);
}

export class MemoryStorage extends Map {
  getItem = (key) => this.get(key) ?? null;
  setItem = (key, value) => this.set(key, value);
  removeItem = (key) => this.delete(key);
}

/** Requests to a path, while `run` runs. */
export async function counted(path, run) {
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

export const RENEWAL = "/auth/request-new-access-token";
export const PASSWORD = "correct horse";
let users = 0;

export async function signedUp({ townhall, server }, options = {}) {
  const client = townhall.createClient({ ...server, ...options });
  const name = `${options.name ?? "user"}${Date.now()}x${users++}`;
  const user = await client.signUp({ email: `${name}@example.com`, password: PASSWORD, username: name });
  return { client, user };
}
