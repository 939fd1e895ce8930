// The official client on a leash: one command per line in, one happening per line out.
// Everything that happens to a socket is told, in its order, under the name the test gave it.
import { createInterface } from "node:readline";
import { io } from "socket.io-client";

const sockets = new Map();

function tell(id, kind, more = {}) {
  process.stdout.write(JSON.stringify({ id, kind, ...more }) + "\n");
}

function open({ id, url, namespace = "", token, projectId, transports, reconnection = false, pings = false }) {
  const socket = io(url + namespace, {
    forceNew: true,
    reconnection,
    reconnectionDelay: 10,
    reconnectionDelayMax: 50,
    transports,
    query: projectId === undefined ? {} : { projectId },
    auth: token === undefined ? undefined : { token },
  });
  sockets.set(id, socket);
  socket.on("connect", () => {
    tell(id, "connect", { transport: socket.io.engine.transport.name });
  });
  socket.io.on("open", () => {
    socket.io.engine.once("upgrade", (transport) => tell(id, "upgrade", { transport: transport.name }));
  });
  if (pings) socket.io.on("ping", () => tell(id, "ping"));
  socket.on("connect_error", (error) => tell(id, "connect_error", { message: error.message }));
  socket.on("disconnect", (reason) => tell(id, "disconnect", { reason }));
  socket.onAny((name, ...args) => tell(id, "event", { name, args }));
}

const commands = {
  open,
  emit: ({ id, name, args }) => sockets.get(id).emit(name, ...args),
  disconnect: ({ id }) => sockets.get(id).disconnect(),
  forget: ({ id }) => {
    sockets.get(id).disconnect();
    sockets.delete(id);
  },
  connect: ({ id, token }) => {
    const socket = sockets.get(id);
    if (token !== undefined) socket.auth = { token };
    socket.connect();
  },
};

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const command = JSON.parse(line);
  commands[command.do](command);
});
// The test run has ended.
lines.on("close", () => process.exit(0));
