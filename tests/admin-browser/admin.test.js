// The admin in Chromium, against the server that the environment names. `cargo test admin_browser` starts one.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { accessibility, advance, apiOf, enter, launch, newPage, until } from "./support.js";

const { TOWNHALL_URL: url, TOWNHALL_PROJECT_ID: project, TOWNHALL_SERVICE_KEY: key } = process.env;
const { INVITATIONS: invitations } = process.env;
if (!url) throw new Error("there is no server: run `cargo test admin_browser`");
const [owner, second] = invitations.split(" ");
const base = `${url}/admin/p/${project}`;
const soon = { timeout: 120_000 };

let browser, page;

const api = apiOf(url, project, key);

/** Posts by one user, each reported by another. */
async function reported(count) {
  const [author, reporter] = await Promise.all(
    ["author", "reporter"].map((name) => api("GET", `/users/by-foreign-id?foreignId=${name}-${count}&createIfNotFound=true`)),
  );
  const made = [];
  for (let n = 0; n < count; n += 1) {
    const entity = await api("POST", "/entities", { userId: author.id, title: `Spam ${n} of ${count}`, content: "Buy now" });
    await api("POST", "/reports", { userId: reporter.id, targetId: entity.id, targetType: "entity", reason: "spam" });
    made.push(entity.id);
  }
  return made;
}

/** A page of an operator of their own. */
async function entered(invitation, email) {
  const opened = await newPage(browser);
  await enter(opened, url, invitation, email);
  return opened;
}

/** What axe and the width of the screen find wrong. */
const problems = [];

async function accessible(name, at = page) {
  problems.push(...(await accessibility(at, name)));
}

const open = (path) => page.goto(`${base}${path}`);
const items = () => page.$$eval(".item", (all) => all.map((item) => item.querySelector("h2").textContent));
const press = (...keys) => keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());
const settled = (count) => until(page, (n) => document.querySelectorAll(".item").length === n, count);

before(async () => {
  browser = await launch();
  page = await entered(owner, "owner@browser.example");
});
after(() => browser.close());

describe("every page", () => {
  it("can be used by everybody and fits every screen", { timeout: 240_000 }, async () => {
    const ada = await api("GET", "/users/by-foreign-id?foreignId=ada&createIfNotFound=true");
    const post = await api("POST", "/entities", { userId: ada.id, title: "Hello", content: "World" });
    await api("POST", "/db/tables", { tableName: "pets", columns: [{ columnName: "name", dataType: "text", nullable: true }] }).catch(() => {});
    const paths = ["", "/queue", "/users", `/users/${ada.id}`, "/content", `/content/${post.id}`, "/spaces", `/why?item=${post.id}`, "/rules", "/tables", "/webhooks", "/keys", "/settings", "/import", "/jobs", "/audit"];
    for (const path of paths) {
      await open(path);
      await accessible(`project${path.replace(/\?.*/, "").replaceAll("/", "-").replaceAll(/-[0-9a-f]{8}-.*/g, "-one")}`);
    }
    for (const path of ["", "/account", "/operators", "/system", "/jobs", "/audit"]) {
      await page.goto(`${url}/admin${path}`);
      await accessible(`admin${path.replaceAll("/", "-")}`);
    }
    const guest = await (await browser.createBrowserContext()).newPage();
    for (const path of ["/admin/sign-in", "/docs", "/docs/v8-create-entity"]) {
      await guest.goto(url + path);
      await accessible(path.slice(1).replaceAll("/", "-"), guest);
    }
    assert.deepEqual(problems, []);
  });
});

describe("the queue", () => {
  it("is decided with the keyboard", soon, async () => {
    await reported(6);
    await open("/queue");
    await settled(6);
    await accessible("queue-with-items");
    assert.deepEqual(problems, []);
    await press("a");
    await settled(5);
    await press("r");
    await settled(4);
    const left = await items();
    // The second decision is taken back, the first one stays.
    await press("z");
    await settled(5);
    assert.deepEqual((await items()).slice(1), left);
    await press("r");
    await settled(4);
    await press("x", "j");
    await page.keyboard.down("Shift");
    await press("X");
    await page.keyboard.up("Shift");
    await page.keyboard.press("w");
    await settled(2);
    await press("s", "2");
    await settled(1);
    await press("?");
    assert.ok(await page.$eval("#help", (help) => help.open));
    await page.keyboard.press("Escape");
  });

  it("is decided with the mouse, and without a script", soon, async () => {
    await reported(3);
    await open("/queue?q=of+3");
    await settled(3);
    await page.click(".item button[value=approve]");
    await settled(2);
    const plain = await (await page.browserContext()).newPage();
    await plain.setJavaScriptEnabled(false);
    await plain.goto(`${base}/queue?q=of+3`);
    await Promise.all([plain.waitForNavigation(), plain.click(".item button[value=remove]")]);
    await plain.goto(`${base}/queue?q=of+3`);
    assert.equal((await plain.$$(".item")).length, 1);
    await Promise.all([plain.waitForNavigation(), plain.click("#pending button")]);
    await plain.goto(`${base}/queue?q=of+3`);
    assert.equal((await plain.$$(".item")).length, 2);
    await plain.close();
  });

  it("is decided at once about all that match", soon, async () => {
    await reported(25);
    await open("/queue?q=of+25");
    await settled(20);
    await Promise.all([page.waitForNavigation(), press("*")]);
    assert.equal(await page.$eval("#total", (total) => total.textContent), "25");
    await accessible("queue-all");
    await page.type("[name=reason]", "Spam wave");
    await page.type("[name=confirm]", "25");
    // Enter in a field decides nothing.
    await page.keyboard.press("Enter");
    await Promise.all([page.waitForNavigation(), page.click("button[value=remove]")]);
    const shows = (part) => until(page, (text) => document.querySelector("[role=status]").textContent.includes(text), part);
    await shows("It has not begun.");
    await accessible("queue-all-progress");
    await advance(10);
    // The page follows by itself.
    await shows("25 of 25 decided. It is done.");
    await open("/queue?q=of+25");
    await settled(0);
    assert.deepEqual(problems, []);
  });

  it("keeps two moderators apart", soon, async () => {
    await reported(2);
    await open("/queue?q=of+2");
    await settled(2);
    await until(page, () => document.querySelector("[aria-current]"));
    const other = await entered(second, "second@browser.example");
    await other.goto(`${base}/queue?q=of+2`);
    await until(other, () => document.querySelector(".toast")?.textContent.includes("works on this one"));
    await other.keyboard.press("a");
    await until(other, () => document.querySelector(".toast")?.textContent.includes("refused"));
    assert.equal((await other.$$(".item")).length, 2);
    // What one decides, the other one's counter hears of.
    const before = await other.$eval("#open", (open) => open.textContent);
    await page.keyboard.press("a");
    await settled(1);
    await until(other, (text) => document.querySelector("#open").textContent !== text, before);
  });

  it("is cleared of a hundred reports in a minute", { timeout: 240_000 }, async () => {
    await reported(100);
    await open("/queue?q=of+100");
    await page.waitForSelector(".item");
    const began = performance.now();
    for (let left = 100; left > 0; left -= 1) {
      const current = await page.$eval(".item[aria-current]", (item) => item.dataset.item);
      await page.keyboard.press(left % 2 === 0 ? "r" : "a");
      await until(page, (id) => !document.querySelector(`[data-item="${id}"]`), current);
      if (left > 1) await page.waitForSelector(".item[aria-current]");
    }
    console.log(`100 reports in ${Math.round((performance.now() - began) / 1000)} s`);
    assert.equal((await items()).length, 0);
  });
});

describe("the explorer", () => {
  it("calls an operation as it is shown", soon, async () => {
    await page.goto(`${url}/docs/v8-fetch-many-entities?projectId=${project}`);
    await page.click("#try button:not([type])");
    await until(page, () => document.querySelector("#reply").textContent.startsWith("200"));
    const curl = await page.$eval("#curl", (element) => element.textContent);
    assert.ok(curl.startsWith("curl -g -X GET 'http"), curl);
  });
});
