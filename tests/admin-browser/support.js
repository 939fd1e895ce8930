// What the tests in Chromium share: a browser, an operator who enters with an invitation, and what axe finds.
import assert from "node:assert/strict";
import { readFile, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import puppeteer from "puppeteer-core";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const password = "correct horse battery";

/** Where pictures of all screens go; without it, none is taken. */
const pictures = process.env.SCREENSHOTS;

export async function launch(args = []) {
  if (pictures) await mkdir(pictures, { recursive: true });
  return puppeteer.launch({ executablePath: "/usr/bin/chromium-headless-shell", args: ["--no-sandbox", ...args] });
}

/** Waits until the page has changed so far that this holds. (To look at every frame, as is the default, costs as much as
 * the rest of a test.) */
export const until = (page, holds, ...given) => page.waitForFunction(holds, { polling: "mutation" }, ...given);

/** Requests of the API with a credential. */
export function apiOf(url, project, credential) {
  return async (method, path, body) => {
    const reply = await fetch(`${url}/v8/${project}${path}`, {
      method,
      headers: { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    assert.ok(reply.ok, `${method} ${path}: ${reply.status} ${await reply.clone().text()}`);
    return reply.status === 204 ? null : reply.json();
  };
}

/** Lets time pass on the server; everything that is due by then is done. */
export async function advance(seconds) {
  const clock = connect(Number(process.env.TOWNHALL_CLOCK), "127.0.0.1");
  clock.write(`${seconds}\n`);
  assert.equal(await text(clock), "done\n");
}

/** A page with its own cookies, whose errors fail the test. */
export async function newPage(browser) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.on("pageerror", (error) => assert.fail(String(error)));
  await page.setViewport({ width: 1280, height: 900 });
  return page;
}

/** Makes an operator with an invitation, with the keyboard alone. */
export async function enter(page, url, invitation, email) {
  await page.goto(`${url}/admin/invitation?token=${invitation}`);
  await page.focus("[name=name]");
  await page.keyboard.type("Mo");
  await page.keyboard.press("Tab");
  await page.keyboard.type(email);
  await page.keyboard.press("Tab");
  await page.keyboard.type(password);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.equal(new URL(page.url()).pathname, "/admin");
}

/** The first look is at everything, the others at what they change. */
const SCREENS = [
  ["light", 1280, {}],
  ["dark", 1280, { runOnly: ["color-contrast"] }],
  ["light", 390, { rules: { "color-contrast": { enabled: false } } }],
];

/** What is wrong for WCAG in light and in dark, wide and narrow. Pages are the same on either engine, so with one of them it
 * is enough to have opened them. */
export async function accessibility(page, name) {
  const problems = [];
  if (!process.env.EVERY_SCREEN) return problems;
  await page.evaluate(axe);
  for (const [scheme, width, options] of SCREENS) {
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    const found = await page.evaluate((given) => globalThis.axe.run(document, given), { resultTypes: ["violations"], ...options });
    const where = `${name}, ${scheme}, ${width} pixels`;
    for (const { id, nodes } of found.violations) problems.push(`${where}: ${id}: ${nodes.map((node) => node.html).join(" | ")}`);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wider > 0) problems.push(`${where}: ${wider} pixels wider than the screen`);
    if (pictures) await page.screenshot({ path: `${pictures}/${name}-${scheme}-${width}.png` });
  }
  await page.setViewport({ width: 1280, height: 900 });
  return problems;
}
