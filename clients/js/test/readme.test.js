// Runs every snippet of the README in its order, as an app would that has the package installed, and checks the types.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const folder = fileURLToPath(new URL("..", import.meta.url));
const { TOWNHALL_URL: url, TOWNHALL_PROJECT_ID: projectId, TOWNHALL_SERVICE_KEY: serviceKey } = process.env;
if (!url) throw new Error("there is no server: run `cargo test client_js`");

const given = { "https://community.example": url, YOUR_PROJECT_ID: projectId, YOUR_SERVICE_KEY: serviceKey };

/** The snippets of a language, addressed to the server of the test. */
function snippets(language) {
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  const found = [...readme.matchAll(/^```(\w*)\n(.*?)^```$/gms)].filter((match) => match[1] === language);
  const addressed = (text) => Object.entries(given).reduce((before, [name, value]) => before.replaceAll(name, value), text);
  return found.map((match) => addressed(match[2]));
}

/** A folder with the package and what it was developed with. */
function app() {
  const app = mkdtempSync(join(tmpdir(), "townhall-app-"));
  mkdirSync(join(app, "node_modules", "@townhall"), { recursive: true });
  symlinkSync(folder, join(app, "node_modules", "@townhall", "client"));
  for (const name of [".bin", "openapi-typescript", "typescript"]) {
    symlinkSync(join(folder, "node_modules", name), join(app, "node_modules", name));
  }
  writeFileSync(join(app, "package.json"), '{ "type": "module" }');
  const compilerOptions = { strict: true, target: "es2022", module: "nodenext", lib: ["es2023", "dom"], types: [], skipLibCheck: true };
  writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["readme.ts", "types.ts"] }));
  return app;
}

test("the README is true", { timeout: 120_000 }, async () => {
  const cwd = app();
  try {
    const languages = [...readFileSync(join(folder, "README.md"), "utf8").matchAll(/^```(\w+)$/gm)].map((match) => match[1]);
    assert.deepEqual([...new Set(languages)], ["ts", "sh"]);
    for (const script of snippets("sh")) await run("sh", ["-ec", script], { cwd });
    writeFileSync(join(cwd, "readme.ts"), snippets("ts").join("\n"));
    copyFileSync(join(folder, "test", "types.ts"), join(cwd, "types.ts"));
    const compiled = await run(process.execPath, [join(folder, "node_modules/typescript/bin/tsc")], { cwd }).catch((error) => error);
    assert.equal(compiled.stdout, "");
    const { stdout } = await run(process.execPath, ["readme.js"], { cwd, timeout: 30_000 });
    const said = ["Hello by mary", "signed out", "signed in as mary", "true", "From the team", "100 %", "heard Hello", "Fern 0.4"];
    assert.deepEqual(said.filter((line) => !stdout.split("\n").includes(line)), [], stdout);
    assert.ok(readdirSync(cwd).includes("townhall.ts"));
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
});
