// Signs in as one of the users that `townhall dev` makes.
export async function signIn(project, name) {
  const reply = await fetch(`/v8/${encodeURIComponent(project)}/auth/sign-in`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email: `${name}@example.com`, password: "townhall" }),
  });
  const { accessToken, error } = await reply.json().catch(() => ({}));
  if (!accessToken) throw new Error(error ?? "There is no such demo user in this project.");
  return accessToken;
}

/** Fields keep what was filled in for as long as the tab is open. */
export function remember(form, names) {
  for (const name of names) {
    const input = form.elements.namedItem(name);
    if (!input) continue;
    input.value ||= new URLSearchParams(location.search).get(name) ?? sessionStorage.getItem(name) ?? "";
  }
  return () => {
    for (const name of names) {
      const input = form.elements.namedItem(name);
      if (input) sessionStorage.setItem(name, input.value);
    }
  };
}
