// Calls of `@replyke/js`, as an app makes them. Run with `clients/redirect/node.js` loaded before it.
import { ReplykeClient } from "@replyke/js";
import WebSocket from "ws";

/** The first packet that a socket gets. */
function hello(url) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    socket.on("error", reject);
    socket.on("message", (data) => {
      resolve(String(data).slice(0, 1));
      socket.close();
    });
  });
}

const other = {
  fetch: async (url) => (await fetch(url)).json(),
  socket: hello,
};

const { project, calls } = JSON.parse(process.argv[2]);
const client = await ReplykeClient.init({ projectId: project });
const results = [];
for (const { path, args } of calls) {
  const [module, method] = path.split(".");
  results.push((await (method ? client[module][method] : other[module])(...args)) ?? null);
}
process.stdout.write(JSON.stringify(results));
