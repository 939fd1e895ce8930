// Asks the browser for a passkey, to add one or to sign in with one, and sends what it answers as a form.
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer ?? [])))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

/** What the server says of a challenge, or a refusal in its words. */
async function begin(form) {
  const reply = await fetch(form.dataset.begin, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (reply.ok) return reply.json();
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  throw new Error(page.querySelector(".notice")?.textContent ?? `The server answered ${reply.status}.`);
}

async function add(form) {
  const options = await begin(form);
  const { response } = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: toBytes(options.challenge),
      user: { ...options.user, id: toBytes(options.user.id) },
      excludeCredentials: options.excludeCredentials.map((known) => ({ ...known, id: toBytes(known.id) })),
    },
  });
  return { clientData: response.clientDataJSON, attestation: response.attestationObject };
}

async function signIn(form) {
  const options = await begin(form);
  const credential = await navigator.credentials.get({
    publicKey: { ...options, challenge: toBytes(options.challenge) },
  });
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  return { credential: credential.rawId, clientData: clientDataJSON, authenticatorData, signature, userHandle };
}

function listen(form, ask) {
  if (!form || !window.PublicKeyCredential) return;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = form.querySelector("[role=alert]");
    said.textContent = "";
    try {
      for (const [name, value] of Object.entries(await ask(form))) form.elements.namedItem(name).value = toText(value);
      form.querySelector("[name=current]")?.remove();
      form.submit();
    } catch (error) {
      said.textContent = error.name === "NotAllowedError" ? "Nothing was chosen." : error.message;
    }
  });
}

listen(document.querySelector("#new-passkey"), add);
listen(document.querySelector("#passkey"), signIn);
