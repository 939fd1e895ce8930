// Pages about projects and the server, passkeys and the socket console in Chromium. `cargo test admin_browser` starts a
// server for it, which browsers find under the public address by a rule of theirs.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { accessibility, apiOf, enter, launch, newPage, password, until } from "./support.js";

const { TOWNHALL_ADDRESS: address, TOWNHALL_PROJECT_ID: project, TOWNHALL_SERVICE_KEY: key } = process.env;
const { INVITATIONS: invitations, USER_TOKEN: token, USER_ID: user } = process.env;
if (!address) throw new Error("there is no server: run `cargo test admin_browser`");
const url = "http://localhost";
const base = `${url}/admin/p/${project}`;
const email = "keys@browser.example";
const soon = { timeout: 120_000 };

let browser, page;

const api = apiOf(`http://${address}`, project, key);

const leave = (at, press) => Promise.all([at.waitForNavigation(), press()]);

before(async () => {
  browser = await launch([`--host-resolver-rules=MAP localhost:80 ${address}`]);
  page = await newPage(browser);
  await enter(page, url, invitations.split(" ")[0], email);
});
after(() => browser.close());

describe("every page", () => {
  it("can be used by everybody and fits every screen", soon, async () => {
    await api("POST", "/db/tables", { tableName: "plants", columns: [{ columnName: "name", dataType: "text", nullable: true }] });
    const space = await api("POST", "/spaces", { name: "Plants", userId: user });
    const problems = [];
    for (const path of ["", "/sign-in", "/push?type=new-follow", "/mails", "/settings", "/webhooks", "/tables", "/tables/plants", "/spaces", `/spaces/${space.id}`, "/files", "/requests"]) {
      const reply = await page.goto(base + path);
      assert.equal(reply.status(), 200, path);
      // What is folded is looked at too.
      await page.$$eval("details", (all) => all.forEach((details) => (details.open = true)));
      problems.push(...(await accessibility(page, `project${path.replace(/\?.*/, "").replaceAll("/", "-")}`)));
    }
    for (const path of ["/admin", "/admin/system", "/admin/requests", "/admin/account", "/docs/sockets"]) {
      await page.goto(url + path);
      problems.push(...(await accessibility(page, path.slice(1).replaceAll("/", "-"))));
    }
    assert.deepEqual(problems, []);
  });

  it("sets up a provider, which stays without its secret", soon, async () => {
    await page.goto(`${base}/sign-in`);
    await page.evaluate(() => [...document.querySelectorAll("#oauth ~ details")].at(-1).setAttribute("open", ""));
    const form = (await page.$$("form[action$='/oauth']")).at(-1);
    for (const [name, value] of [["provider", "github"], ["clientId", "abc"], ["clientSecret", "hush-hush"], ["redirectUris", "https://app.example/in"]]) {
      await (await form.$(`[name=${name}]`)).type(value);
    }
    await leave(page, async () => (await form.$("button")).click());
    const text = await page.content();
    assert.ok(text.includes("github, secret set") && !text.includes("hush-hush"));
  });
});

describe("a passkey", () => {
  it("is added and signs in, with the keyboard alone", soon, async () => {
    const devtools = await page.createCDPSession();
    await devtools.send("WebAuthn.enable");
    const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true };
    const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", { options: { ...options, automaticPresenceSimulation: true } });
    await page.goto(`${url}/admin/account`);

    // Without the password none is added.
    await page.type("#new-passkey [name=name]", "Laptop");
    await page.type("#new-passkey [name=current]", "wrong password");
    await page.keyboard.press("Enter");
    await until(page, () => document.querySelector("#new-passkey [role=alert]").textContent.includes("wrong"));
    await page.$eval("#new-passkey [name=current]", (input) => (input.value = ""));
    await page.type("#new-passkey [name=current]", password);
    await leave(page, () => page.keyboard.press("Enter"));
    await until(page, () => document.querySelector("#passkeys").parentElement.textContent.includes("Laptop"));
    const { credentials } = await devtools.send("WebAuthn.getCredentials", { authenticatorId });
    assert.equal(credentials.length, 1);
    assert.equal(credentials[0].rpId, "localhost");

    await leave(page, () => page.click("header form button"));
    assert.equal(new URL(page.url()).pathname, "/admin/sign-in");
    await page.waitForSelector("#passkey button", { visible: true });
    await page.focus("#passkey button");
    await leave(page, () => page.keyboard.press("Enter"));
    assert.equal(new URL(page.url()).pathname, "/admin");
    assert.ok((await page.content()).includes("Sign out"));

    // Whom the authenticator does not recognize stays outside.
    await leave(page, () => page.click("header form button"));
    await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
    await page.waitForSelector("#passkey button", { visible: true });
    await page.click("#passkey button");
    await until(page, () => document.querySelector("#passkey [role=alert]").textContent !== "");
    assert.equal(new URL(page.url()).pathname, "/admin/sign-in");
    await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
    await leave(page, () => page.click("#passkey button"));
    assert.equal(new URL(page.url()).pathname, "/admin");
  });
});

describe("the socket console", () => {
  it("connects, joins a room and shows what happens in it", soon, async () => {
    const post = await api("POST", "/entities", { userId: user, title: "Heard" });
    await page.goto(`${url}/docs/sockets?projectId=${project}`);
    await page.type("[name=credential]", token);
    await page.click("#connect .actions:last-child button:not([type])");
    await until(page, () => document.querySelector("#state").textContent === "connected");
    await page.select("[name=message]", "join:entity");
    await page.type("[name=id]", post.id);
    await page.keyboard.press("Enter");
    const hears = (text) => until(page, (wanted) => document.querySelector(".events").textContent.includes(wanted), text);
    await hears("room:joined");
    await api("POST", "/comments", { userId: user, entityId: post.id, content: "Listen" });
    await hears("comment:created");
    await page.click("[name=disconnect]");
    await until(page, () => document.querySelector("#state").textContent === "not connected");
    // A token that is none is refused in words.
    await page.$eval("[name=credential]", (input) => (input.value = "nonsense"));
    await page.click("#connect .actions:last-child button:not([type])");
    await hears("refused");
  });
});
