// docs/tutorial.md in Chromium, as a reader has it: the blocks of each file are put together and served. Two people use the page.
import assert from "node:assert/strict";
import { readFile, writeFile, mkdtemp } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import puppeteer from "puppeteer-core";

const { TOWNHALL_URL: url, TOWNHALL_PROJECT_ID: projectId } = process.env;
if (!url) throw new Error("there is no server: run `cargo test client_js`");
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M/wHwAEBgIApD5fRAAAAABJRU5ErkJggg==";

/** The files of the tutorial, by name. */
async function files() {
  const page = await readFile(new URL("../../../docs/tutorial.md", import.meta.url), "utf8");
  const files = {};
  for (const [, name, text] of page.matchAll(/^```(?:html|js) (\S+)\n(.*?)^```$/gms)) files[name] = (files[name] ?? "") + text;
  files["app.js"] = files["app.js"].replaceAll("http://127.0.0.1:8484", url).replaceAll("PROJECT_ID", projectId);
  return files;
}

let site, browser;
before(async () => {
  const own = await files();
  site = createServer(async (request, response) => {
    const name = request.url === "/" ? "index.html" : request.url.slice(1);
    response.setHeader("content-type", name.endsWith(".html") ? "text/html" : "text/javascript");
    response.end(own[name] ?? (await readFile(new URL(`../${name}`, import.meta.url)).catch(() => "")));
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
  browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium-headless-shell", args });
});
after(async () => {
  await browser?.close();
  site.close();
});

/** Somebody with a browser of their own. */
async function visitor(username) {
  const page = await (await browser.createBrowserContext()).newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(`http://localhost:${site.address().port}/`);
  const fill = async (form, values) => {
    for (const [name, value] of Object.entries(values)) await page.type(`${form} [name=${name}]`, value);
    await page.click(`${form} button`);
  };
  /** Waits until the text is in the page. */
  const sees = (selector, text) =>
    page
      .waitForFunction((s, t) => [...document.querySelectorAll(s)].some((e) => e.textContent.includes(t)), { timeout: 20_000 }, selector, text)
      .catch(async () => assert.fail(`${text} is not in ${selector}: ${await page.$eval("body", (body) => body.innerText)} ${errors}`));
  await fill("#enter", { email: `${username}@example.org`, username, password: "correct horse" });
  await sees("#me", username);
  return { page, fill, sees, errors };
}

it("works as it is written", { timeout: 120_000 }, async () => {
  const picture = join(await mkdtemp(join(tmpdir(), "tutorial-")), "picture.png");
  await writeFile(picture, Buffer.from(PICTURE, "base64"));
  const mary = await visitor("mary");
  await (await mary.page.$("#post [name=picture]")).uploadFile(picture);
  await mary.fill("#post", { title: "Tomatoes are ripe" });
  await mary.sees("article h3", "Tomatoes are ripe");
  await mary.page.waitForFunction(() => document.querySelector("article img")?.naturalWidth > 0, { timeout: 20_000 });

  const otto = await visitor("otto");
  await otto.sees("article", "by mary");
  await otto.page.click("article button");
  await otto.sees("article button", "♥ 1");
  await otto.page.type("article form input", "May I have some?");
  await otto.page.click("article form button");
  await otto.sees("article li", "otto: May I have some?");

  await otto.fill("#chat", { content: "Is anybody here?" });
  await mary.sees("#messages li", "Is anybody here?");
  await mary.fill("#chat", { content: "I am" });
  await otto.sees("#messages li", "I am");

  // The index is written within a second or two: search until it is.
  const search = () => otto.page.evaluate(() => {
    document.querySelector("#search [name=query]").value = "tomatos";
    document.querySelector("#search button").click();
  });
  const searching = setInterval(search, 250);
  await otto.sees("#found li", "Tomatoes").finally(() => clearInterval(searching));

  // A reload keeps the session.
  await mary.page.reload();
  await mary.sees("#me", "mary");
  await mary.sees("article li", "otto: May I have some?");
  assert.deepEqual([...mary.errors, ...otto.errors], []);
});
