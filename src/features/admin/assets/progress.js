// Shows how far a job is until it is over. Without this script the page has a link.
const look = async () => {
  if (!document.querySelector("[data-progress]")) return;
  const reply = await fetch(location.href);
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  const content = page.querySelector("#content");
  if (!reply.ok || !content) return location.reload();
  const focused = document.activeElement?.closest("form")?.textContent;
  document.querySelector("#content").replaceWith(document.adoptNode(content));
  if (focused) [...document.querySelectorAll("#content form")].find((form) => form.textContent === focused)?.querySelector("button")?.focus();
  setTimeout(look, 1000);
};
setTimeout(look, 1000);
