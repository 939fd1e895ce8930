// The queue with the keyboard. Without this script the same forms work with the mouse.
const items = () => [...document.querySelectorAll(".item")];
let current = -1;

function focus(index) {
  const all = items();
  if (all.length === 0) return;
  current = Math.max(0, Math.min(index, all.length - 1));
  for (const item of all) item.removeAttribute("aria-current");
  all[current].setAttribute("aria-current", "true");
  all[current].focus({ preventScroll: true });
  all[current].scrollIntoView({ block: "nearest" });
}

function press(name) {
  items()[current]?.querySelector(`button[value="${name}"]`)?.click();
}

const keys = {
  j: () => focus(current + 1),
  k: () => focus(current - 1),
  a: () => press("approve"),
  r: () => press("remove"),
  s: () => press("suspend"),
};

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = keys[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

focus(0);
