// Published clients on a leash: one command per line in, one outcome per line out.
//
// `@replyke/js` runs here, `@replyke/react-js` in a page of a real browser, where `clients/redirect` sends what is meant for
// the published address to the server of the test.
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ReplykeClient } from "@replyke/js";
import puppeteer from "puppeteer-core";
import { bundle } from "./bundle.js";
import { check } from "./types.js";

const pages = new Map();

/** The script and an origin for it: a page is served at a name, the server of the test is called by its address. */
let site;
function started() {
  site ??= bundle().then(
    (script) =>
      new Promise((resolve) => {
        const html = '<!doctype html><meta charset="utf-8"><div id="root"></div><script src="/page.js"></script>';
        const server = createServer((request, response) => {
          const isScript = request.url.startsWith("/page.js");
          response.setHeader("content-type", isScript ? "text/javascript; charset=utf-8" : "text/html");
          response.end(isScript ? script : html);
        });
        server.listen(0, "127.0.0.1", () => resolve(`http://localhost:${server.address().port}`));
      }),
  );
  return site;
}

/** One browser for all pages. It accepts cookies of other sites: the page and the server are two. */
let browsing;
const profile = mkdtempSync(join(tmpdir(), "legacy-client-"));
function browser() {
  const preferences = { profile: { cookie_controls_mode: 0, block_third_party_cookies: false } };
  if (!browsing) {
    mkdirSync(join(profile, "Default"));
    writeFileSync(join(profile, "Default", "Preferences"), JSON.stringify(preferences));
  }
  browsing ??= puppeteer.launch({
    executablePath: "/usr/bin/chromium-headless-shell",
    userDataDir: profile,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"],
  });
  return browsing;
}

/** A page with cookies and storage of its own. */
async function open({ page: name, server, project, signedToken, repairs }) {
  const origin = await started();
  const context = await (await browser()).createBrowserContext();
  const page = await context.newPage();
  pages.set(name, { context, page });
  const query = new URLSearchParams({ server, project, ...(signedToken && { signedToken }), ...(repairs && { repairs }) });
  await page.goto(`${origin}/?${query}`);
  await ready(page);
  return { origin };
}

async function ready(page) {
  await page.waitForFunction("window.harness?.isReady()", { timeout: 30_000 });
}

const commands = {
  /** A call of the client for Node. */
  async node({ server, project, key, path, args, type }) {
    const client = await ReplykeClient.init({ projectId: project });
    client.http.instance.defaults.baseURL = `${server}/api/v5/${project}`;
    if (key) client.http.instance.defaults.headers.common.Authorization = `Bearer ${key}`;
    const [module, method] = path.split(".");
    const result = (await client[module][method](...args)) ?? null;
    return { result, wrong: await check(type, result) };
  },
  /** The same client in a program of its own, unchanged: a module loaded before it does everything. */
  async preloaded({ server, project, key, calls }) {
    const [preload, program] = ["../../clients/redirect/node.js", "./unchanged.js"].map((path) => new URL(path, import.meta.url));
    const env = { ...process.env, TOWNHALL_URL: server, TOWNHALL_PROJECT_ID: project, ...(key && { TOWNHALL_SERVICE_KEY: key }) };
    const args = ["--import", preload.href, fileURLToPath(program), JSON.stringify({ project, calls })];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    const results = JSON.parse(stdout);
    const wrong = await Promise.all(calls.map(({ type }, index) => check(type, results[index])));
    return { results, wrong: wrong.flat() };
  },
  open,
  async reload({ page: name }) {
    const { page } = pages.get(name);
    await page.reload();
    await ready(page);
    return {};
  },
  /** Calls what a hook returned, or one of its functions. */
  async call({ page, hook, props = [], method = null, args = [], type }) {
    const call = (...given) => window.harness.call(...given);
    const outcome = await pages.get(page).page.evaluate(call, hook, props, method, args);
    return { ...outcome, wrong: await check(type, outcome.result) };
  },
  /** The state of a hook once it has a value at `path` that is not nothing. */
  async state({ page, hook, props = [], path, type }) {
    const state = (...given) => window.harness.state(...given);
    const result = await pages.get(page).page.evaluate(state, hook, props, path);
    return { result, wrong: await check(type, result) };
  },
  /** Moves the clock of a page. */
  async wait({ page, minutes }) {
    const wait = (milliseconds) => {
      const { now } = Date;
      Date.now = () => now() + milliseconds;
    };
    await pages.get(page).page.evaluate(wait, minutes * 60_000);
    return {};
  },
  /** A request to the published address, as other versions of the client send it. */
  async send({ page, by, url, method, headers, body }) {
    const send = (...given) => window.harness.send(...given);
    return { result: await pages.get(page).page.evaluate(send, by, url, { method, headers, body }) };
  },
  /** Another page in the same browser, of another origin, posts with all cookies. */
  async attack({ page: name, url }) {
    const { context } = pages.get(name);
    const page = await context.newPage();
    await page.goto((await started()).replace("localhost", "127.0.0.1"));
    const post = async (address) => {
      const response = await fetch(address, { method: "POST", credentials: "include" });
      return response.status === 204 ? null : response.json();
    };
    const network = await page.createCDPSession();
    const sent = [];
    network.on("Network.requestWillBeSentExtraInfo", ({ headers }) => sent.push(headers.Cookie ?? headers.cookie ?? ""));
    await network.send("Network.enable");
    const result = await page.evaluate(post, url);
    await page.close();
    return { result, cookies: sent.join() };
  },
  async close({ page: name }) {
    const { context } = pages.get(name);
    pages.delete(name);
    await context.close();
    return {};
  },
};

const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const { id, ...command } = JSON.parse(line);
  let outcome;
  try {
    outcome = await commands[command.do](command);
  } catch (error) {
    outcome = { error: String(error.response ? `${error.response.status} ${JSON.stringify(error.response.data)}` : error) };
  }
  process.stdout.write(`${JSON.stringify({ id, ...outcome })}\n`);
});
// The test run has ended.
lines.on("close", async () => {
  if (browsing) await (await browsing).close();
  rmSync(profile, { recursive: true, force: true });
  process.exit(0);
});
