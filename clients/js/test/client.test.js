// Runs every case in Node and in Chromium, against the server that the environment names. `cargo test client_js` starts one.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect, createServer as listen } from "node:net";
import { after, before, describe, it } from "node:test";
import puppeteer from "puppeteer-core";
import * as townhall from "../dist/index.js";
import * as realtime from "../dist/realtime.js";
import { cases } from "./cases.js";

const { TOWNHALL_URL: url, TOWNHALL_PROJECT_ID: projectId, TOWNHALL_SERVICE_KEY: serviceKey, TEST_CONTROL: control } = process.env;
if (!url) throw new Error("there is no server: run `cargo test client_js`");
const server = { url, projectId };
const soon = { timeout: 60_000 };

/** Moves the server's clock. */
async function advance(seconds) {
  assert.equal((await fetch(`${control}/advance/${seconds}`)).status, 200);
}

/** A line to the server that can be cut. */
async function openLine() {
  const { hostname, port } = new URL(url);
  const open = new Set();
  let isCut = false;
  const proxy = listen((socket) => {
    const ends = [socket, connect(Number(port), hostname)];
    if (isCut) return ends.forEach((end) => end.destroy());
    ends.forEach((end, index) => {
      open.add(end);
      end.pipe(ends[1 - index]);
      end.on("error", () => {});
      end.on("close", () => (open.delete(end), ends[1 - index].destroy()));
    });
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${proxy.address().port}`,
    cut() {
      isCut = true;
      for (const socket of open) socket.destroy();
    },
    heal() {
      isCut = false;
    },
    close() {
      this.cut();
      proxy.close();
    },
  };
}

/** The modules as they are, without a bundler: only the name of socket.io-client has to be explained to a browser. */
async function openSite() {
  const imports = { "socket.io-client": "/node_modules/socket.io-client/dist/socket.io.esm.min.js" };
  const page = `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>`;
  const site = createServer(async (request, response) => {
    const isPage = request.url === "/";
    response.setHeader("content-type", isPage ? "text/html" : "text/javascript");
    response.end(isPage ? page : await readFile(new URL(`..${request.url}`, import.meta.url)).catch(() => ""));
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  return site;
}

// Without control of the clock, cases that need it are left out.
const names = Object.keys(cases).filter((name) => control || !String(cases[name]).includes("await t.advance("));

describe("in Node", () => {
  let line;
  before(async () => (line = await openLine()));
  after(() => line.close());
  for (const name of names) {
    it(name, soon, () => cases[name]({ townhall, realtime, server, serviceKey, advance: control && advance, line }));
  }
});

describe("in Chromium", () => {
  let line, site, browser, page;
  before(async () => {
    [line, site] = await Promise.all([openLine(), openSite()]);
    const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
    browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium-headless-shell", args });
    page = await browser.newPage();
    await page.goto(`http://localhost:${site.address().port}/`);
    await page.exposeFunction("advance", advance);
    await page.exposeFunction("cut", () => line.cut());
    await page.exposeFunction("heal", () => line.heal());
  });
  after(async () => {
    await browser?.close();
    site.close();
    line.close();
  });
  for (const name of names) {
    it(name, soon, async () => {
      const given = { server, serviceKey, hasControl: !!control, url: line.url };
      const run = async (name, { hasControl, url, ...given }) => {
        const modules = ["/test/cases.js", "/dist/index.js", "/dist/realtime.js"].map((path) => import(path));
        const [{ cases }, townhall, realtime] = await Promise.all(modules);
        const line = { url, cut: window.cut, heal: window.heal };
        const advance = hasControl ? window.advance : undefined;
        try {
          await cases[name]({ ...given, townhall, realtime, advance, line, isBrowser: true, hasLocks: !!navigator.locks });
        } catch (error) {
          return `${error.stack}`;
        }
      };
      assert.equal(await page.evaluate(run, name, given), undefined);
    });
  }
});
