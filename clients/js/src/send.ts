// One request and its reply, by fetch; or by XMLHttpRequest where somebody wants to see an upload advance, because
// fetch does not tell that in browsers.
import type { Reply } from "./error.js";
import type { Progress } from "./types.js";

export interface Message {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | FormData | undefined;
  signal: AbortSignal | undefined;
  onProgress: ((progress: Progress) => void) | undefined;
}

export async function send(message: Message): Promise<Reply> {
  if (message.body === undefined || !message.onProgress) return sendByFetch(message, message.body);
  return typeof XMLHttpRequest === "undefined" ? sendByStream(message) : sendByXhr(message);
}

async function sendByFetch({ method, url, headers, signal }: Message, body: BodyInit | undefined): Promise<Reply> {
  // Node sends streams with this option only; types of browsers do not know it.
  const duplex = body instanceof ReadableStream ? { duplex: "half" } : {};
  const response = await fetch(url, { method, headers, body: body ?? null, signal: signal ?? null, ...duplex });
  const header = (name: string) => response.headers.get(name);
  return { status: response.status, header, body: read(await response.text(), header) };
}

/** Node: what was taken from the stream was sent. */
async function sendByStream(message: Message): Promise<Reply> {
  const encoded = new Response(message.body);
  const type = encoded.headers.get("content-type");
  const bytes = await encoded.blob();
  let loaded = 0;
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      loaded += chunk.byteLength;
      message.onProgress?.({ loaded, total: bytes.size });
    },
  });
  const headers = { ...message.headers, ...(type && { "content-type": type }) };
  return sendByFetch({ ...message, headers }, bytes.stream().pipeThrough(counted));
}

function sendByXhr({ method, url, headers, body, signal, onProgress }: Message): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    xhr.open(method, url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.upload.addEventListener("progress", ({ loaded, total }) => onProgress?.({ loaded, total }));
    const abort = () => xhr.abort();
    xhr.addEventListener("loadend", () => signal?.removeEventListener("abort", abort));
    xhr.addEventListener("load", () => {
      const header = (name: string) => xhr.getResponseHeader(name);
      resolve({ status: xhr.status, header, body: read(xhr.responseText, header) });
    });
    xhr.addEventListener("error", () => reject(new TypeError("the request failed")));
    xhr.addEventListener("abort", () => reject(signal?.reason ?? new DOMException("aborted", "AbortError")));
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener("abort", abort);
    xhr.send(body ?? null);
  });
}

function read(text: string, header: (name: string) => string | null): unknown {
  if (text === "") return undefined;
  return header("content-type")?.includes("json") ? JSON.parse(text) : text;
}
