// An appeal in Chromium, from the removal to the end. `cargo test admin_browser` starts a server for it.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { accessibility, advance, apiOf, enter, launch, newPage, until } from "./support.js";

const { TOWNHALL_URL: url, TOWNHALL_PROJECT_ID: project, TOWNHALL_SERVICE_KEY: key } = process.env;
const { INVITATIONS: invitations, USER_TOKEN: token } = process.env;
if (!url) throw new Error("there is no server: run `cargo test admin_browser`");
const base = `${url}/admin/p/${project}`;
const soon = { timeout: 120_000 };
const api = apiOf(url, project, key);
const author = apiOf(url, project, token);

let browser, first, second;

before(async () => {
  browser = await launch();
  const pages = invitations.split(" ").map(async (invitation, n) => {
    const page = await newPage(browser);
    await enter(page, url, invitation, `appeals-${n}@browser.example`);
    return page;
  });
  [first, second] = await Promise.all(pages);
});
after(() => browser.close());

/** How long a decision can be undone. */
const UNDO = 10;

const settled = (page, count) => until(page, (n) => document.querySelectorAll(".item").length === n, count);
const toast = (page, text) => until(page, (part) => document.querySelector(".toast")?.textContent.includes(part), text);

/** The notice of this title, about this post, once a decision cannot be undone any more. */
async function notice(title, post) {
  await advance(UNDO);
  const { data } = await author("GET", "/app-notifications");
  const found = data.map((one) => one.metadata).find((one) => one.title === title && one.moderation?.targetId === post);
  assert.ok(found, `${title}: ${JSON.stringify(data)}`);
  return found;
}

/** A post of the author that the first moderator has removed; what the author was told. */
async function removed(title) {
  const post = await author("POST", "/entities", { title, content: "Only today" });
  const reporter = await api("GET", "/users/by-foreign-id?foreignId=reporter&createIfNotFound=true");
  await api("POST", "/reports", { userId: reporter.id, targetId: post.id, targetType: "entity", reason: "spam" });
  await first.goto(`${base}/queue?q=${encodeURIComponent(title)}`);
  await settled(first, 1);
  await first.keyboard.press("e");
  await first.keyboard.type("Advertising");
  await first.keyboard.press("Enter");
  await first.keyboard.press("r");
  await settled(first, 0);
  const told = await notice("Your post was removed", post.id);
  return { post: post.id, told };
}

const status = async (post) => (await api("GET", `/entities/${post}`)).moderationStatus;

describe("an appeal", () => {
  it("brings a post back", soon, async () => {
    const { post, told } = await removed("My watches");
    const { statement, decisionId } = told.moderation;
    assert.equal(statement.facts.text, "Advertising");
    const { method, path } = statement.redress.appeal;
    await author(method, path, { decisionId, text: "They are a gift" });

    await second.goto(`${base}/queue?kind=appeal`);
    await settled(second, 1);
    const shown = await second.$eval(".item", (item) => item.textContent);
    for (const part of ["They are a gift", "Advertising", "My watches"]) assert.ok(shown.includes(part), shown);
    assert.deepEqual(await accessibility(second, "queue-appeals"), []);
    await until(second, () => document.querySelector("[aria-current]"));
    // The one who has decided is asked to leave it to others, and cannot decide about it meanwhile.
    await first.goto(`${base}/queue`);
    await settled(first, 1);
    await toast(first, "works on this one");
    assert.ok((await first.$eval(".item", (item) => item.textContent)).includes("You made this decision."));
    await first.keyboard.press("a");
    await toast(first, "refused");
    // An appeal is approved or rejected, nothing else.
    await second.keyboard.press("w");
    await toast(second, "nothing else");

    await second.keyboard.press("e");
    await second.keyboard.type("You are right");
    await second.keyboard.press("Enter");
    await second.keyboard.press("a");
    await settled(second, 0);
    const answer = await notice("Your appeal was successful", post);
    assert.equal(answer.content, "You are right");
    assert.equal(await status(post), "approved");
    const [appeal] = (await author("GET", path)).data;
    assert.deepEqual([appeal.status, appeal.answer], ["reversed", "You are right"]);
  });

  it("is rejected with the mouse, after a change of mind", soon, async () => {
    const { post, told } = await removed("My other watches");
    await author("POST", "/moderation/appeals", { decisionId: told.moderation.decisionId, text: "Please" });
    await second.goto(`${base}/queue`);
    await settled(second, 1);
    await second.click(".item button[value=approve]");
    await settled(second, 0);
    await second.keyboard.press("z");
    await settled(second, 1);
    await second.click(".item button[value=remove]");
    await settled(second, 0);
    await notice("Your appeal was rejected", post);
    assert.equal(await status(post), "removed");
  });
});
