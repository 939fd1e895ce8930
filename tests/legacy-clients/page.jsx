// An app with the published client: every hook that a test names is mounted below its provider, and called.
import { Component, Fragment, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import * as replyke from "@replyke/react-js";
import { redirect } from "../../clients/redirect/browser.js";

const query = new URLSearchParams(location.search);
const server = query.get("server");
const project = query.get("project");

// The client keeps its published address. Without the project, nothing but the address changes on the way.
redirect({ server, projectId: query.get("repairs") ? project : undefined });

const PUBLISHED = "https://api.replyke.com";
const requests = [];
// As the client sees them. The status is null until there is a reply, and 0 if there will be none.
function noted(method, url) {
  const request = { method, url: String(url).replace(PUBLISHED, ""), status: null };
  requests.push(request);
  return request;
}
const { open } = XMLHttpRequest.prototype;
XMLHttpRequest.prototype.open = function (method, url, ...rest) {
  const request = noted(method, url);
  this.addEventListener("loadend", () => (request.status = this.status));
  return open.call(this, method, url, ...rest);
};
const { fetch } = window;
window.fetch = async (input, init) => {
  const request = noted(input.method ?? init?.method ?? "GET", input.url ?? input);
  try {
    const response = await fetch(input, init);
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
  useWrittenMentions(first) {
    const [content, setContent] = useState(first);
    const box = { content, setContent, focus() {}, cursorPosition: content.length, isSelectionActive: false };
    return { ...replyke.useMentions(box), content };
  },
};

/** Replies of a comment are shown in the section of its entity, once the comment is there. */
function InSection({ entityId, commentId, children }) {
  return (
    <replyke.CommentSectionProvider entityId={entityId}>
      <OnceLoaded commentId={commentId}>{children}</OnceLoaded>
    </replyke.CommentSectionProvider>
  );
}

function OnceLoaded({ commentId, children }) {
  const { entityCommentsTree } = replyke.useCommentSection();
  return entityCommentsTree?.[commentId] ? children : null;
}

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
  const inPlace = (probe) =>
    probe.hook === "useReplies" ? (
      <InSection {...probe.props[0]}>
        <Probe {...probe} />
      </InSection>
    ) : (
      <Probe {...probe} />
    );
  return probes.map((probe) => <Fragment key={probe.id}>{inPlace(probe)}</Fragment>);
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
    const isIdle = () => requests.every(({ status }) => status !== null) || null;
    do {
      await until(isIdle);
      await pause(20);
    } while (!isIdle());
    return { ...outcome, requests: requests.slice(from) };
  },
  async send(by, url, { method = "GET", headers = {}, body }) {
    if (by === "socket") {
      const socket = new WebSocket(url);
      return new Promise((resolve, reject) => {
        socket.onerror = () => reject(new Error("no socket"));
        socket.onmessage = ({ data }) => resolve(data.slice(0, 1));
      }).finally(() => socket.close());
    }
    if (by === "fetch") {
      const response = await window.fetch(url, { method, headers, body });
      return { status: response.status, body: await response.text() };
    }
    const request = new XMLHttpRequest();
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    await new Promise((resolve) => {
      request.addEventListener("loadend", resolve);
      request.send(body);
    });
    return { status: request.status, body: request.responseText };
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
    <replyke.ReplykeProvider projectId={project} signedToken={query.get("signedToken")}>
      <App />
    </replyke.ReplykeProvider>
  </Failing>,
);
