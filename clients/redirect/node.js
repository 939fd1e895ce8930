// The same for Node, where published clients use the modules http and https as well:
//
//   TOWNHALL_URL=https://community.example TOWNHALL_PROJECT_ID=… node --import ./redirect/node.js app.js
//
// With TOWNHALL_SERVICE_KEY, requests without a credential get that key: some clients for servers send none.
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import { urlToHttpOptions } from "node:url";
import { addressOf, redirect } from "./browser.js";

const { TOWNHALL_URL: server, TOWNHALL_PROJECT_ID: projectId, TOWNHALL_SERVICE_KEY: key, TOWNHALL_REDIRECT_FROM: from } = process.env;
if (!server) throw new Error("TOWNHALL_URL is missing: the address of your server");
const settings = { server, projectId, key, ...(from && { from }) };

redirect(settings);

const modules = { "http:": http, "https:": https };
const originals = { "http:": http.request, "https:": https.request };

for (const [protocol, module] of Object.entries(modules)) {
  module.request = (...args) => {
    const callback = typeof args.at(-1) === "function" ? args.pop() : undefined;
    const [first, second] = args;
    const isUrl = typeof first === "string" || first instanceof URL;
    const options = isUrl ? { ...urlToHttpOptions(new URL(first)), ...second } : { ...first };
    const to = addressOf(asked(options, protocol), settings);
    if (!to) return originals[protocol](options, callback);
    return originals[to.protocol](moved(options, to, options.protocol ?? protocol), callback);
  };
  module.get = (...args) => module.request(...args).end();
}
syncBuiltinESMExports();

function asked({ hostname, host, port, path = "/", ...options }, protocol) {
  const name = hostname ?? host ?? "localhost";
  return `${options.protocol ?? protocol}//${name}${port ? `:${port}` : ""}${path}`;
}

function moved({ host, servername, ...options }, to, protocol) {
  const headers = Object.fromEntries(Object.entries(options.headers ?? {}).filter(([name]) => name.toLowerCase() !== "host"));
  const hasCredential = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  if (key && !hasCredential) headers.authorization = `Bearer ${key}`;
  const { hostname, port, path } = urlToHttpOptions(to);
  const changed = { ...options, protocol: to.protocol, hostname, port: port || undefined, path, headers };
  // Agents and ways to connect belong to the protocol that they were made for.
  if (protocol === to.protocol) return changed;
  return { ...changed, agent: undefined, createConnection: undefined, defaultPort: undefined };
}
