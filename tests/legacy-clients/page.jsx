// An app with the published client: every hook that a test names is mounted below its provider, and called.
import { Component, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import * as replyke from "@replyke/react-js";

const PUBLISHED = "https://api.replyke.com";
const query = new URLSearchParams(location.search);
const server = query.get("server");

// The only change: the address. The published one never hears of it.
const redirected = (url) => String(url).replace(PUBLISHED, server);
const { open } = XMLHttpRequest.prototype;
const requests = [];
// The status is null until there is a reply, and 0 if there will be none.
function noted(method, url) {
  const request = { method, url: url.replace(server, ""), status: null };
  requests.push(request);
  return request;
}
XMLHttpRequest.prototype.open = function (method, url, ...rest) {
  const request = noted(method, redirected(url));
  this.addEventListener("loadend", () => (request.status = this.status));
  return open.call(this, method, redirected(url), ...rest);
};
const plainFetch = window.fetch;
window.fetch = async (input, init) => {
  const isRequest = input instanceof Request;
  const url = redirected(isRequest ? input.url : input);
  const request = noted(isRequest ? input.method : (init?.method ?? "GET"), url);
  const body = isRequest && input.method !== "GET" ? await input.text() : undefined;
  const { method, headers, credentials, signal } = input;
  try {
    const response = await plainFetch(url, isRequest ? { method, headers, credentials, signal, body } : init);
    request.status = response.status;
    return response;
  } catch (error) {
    request.status = 0;
    throw error;
  }
};

const values = new Map();
let mount;

// Hooks that an app gives state of its own.
const composed = {
  useVotedComment(first) {
    const [comment, setComment] = useState(first);
    return { ...replyke.useCommentVotes({ comment, setComment }), comment };
  },
  useVotedEntity(first) {
    const [entity, setEntity] = useState(first);
    return { ...replyke.useEntityVotes({ entity, setEntity }), entity };
  },
};

function Probe({ id, hook, props }) {
  const value = (composed[hook] ?? replyke[hook])(...props);
  useEffect(() => {
    values.set(id, value);
  });
  return null;
}

function App() {
  const [probes, setProbes] = useState([{ id: "useAuth[]", hook: "useAuth", props: [] }]);
  mount = (probe) => setProbes((before) => (before.some(({ id }) => id === probe.id) ? before : [...before, probe]));
  return probes.map((probe) => <Probe key={probe.id} {...probe} />);
}

class Failing extends Component {
  static getDerivedStateFromError(error) {
    window.failure = String(error);
    return {};
  }
  state = null;
  render() {
    return this.state ? null : this.props.children;
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function until(found) {
  for (let tries = 0; tries < 500; tries++) {
    if (window.failure) throw new Error(window.failure);
    const value = found();
    if (value !== undefined && value !== null) return value;
    await pause(20);
  }
  throw new Error("it did not happen");
}

async function mounted(hook, props) {
  const id = hook + JSON.stringify(props);
  mount({ id, hook, props });
  await until(() => values.get(id));
  // Interceptors with the current token are set in effects.
  await pause(20);
  return id;
}

/** Files cannot be sent as JSON: `{"$file": name, content, type}` stands for one. */
function revive(value) {
  if (value?.$file) return new File([value.content], value.$file, { type: value.type });
  return value;
}

window.harness = {
  isReady: () => values.get("useAuth[]")?.loadingInitial === false,
  async call(hook, props, method, args) {
    const id = await mounted(hook, props);
    const value = values.get(id);
    const from = requests.length;
    let outcome;
    try {
      const called = await (method ? value[method] : value)(...args.map(revive));
      outcome = { result: called ?? null };
    } catch (error) {
      outcome = { failed: error.response ? `${error.response.status} ${JSON.stringify(error.response.data)}` : String(error) };
    }
    // Some calls make the client fetch again what they have changed.
    await until(() => requests.every(({ status }) => status !== null) || null);
    await pause(20);
    return { ...outcome, requests: requests.slice(from) };
  },
  async state(hook, props, path) {
    const id = await mounted(hook, props);
    const at = () => path.split(".").reduce((value, name) => value?.[name], values.get(id));
    await until(at);
    return JSON.parse(JSON.stringify(at()));
  },
};

createRoot(document.getElementById("root")).render(
  <Failing>
    <replyke.ReplykeProvider projectId={query.get("project")} signedToken={query.get("signedToken")}>
      <App />
    </replyke.ReplykeProvider>
  </Failing>,
);
