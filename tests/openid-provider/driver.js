// OpenID providers on a leash, and a browser that visits them: one command per line in, one outcome per line out.
// Their clock stands at the time that every test begins with.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { createHash, generateKeyPairSync } from "node:crypto";

const NOON = Date.UTC(2026, 7, 1, 12);
globalThis.Date = class extends Date {
  constructor(...args) {
    if (args.length === 0) super(NOON);
    else super(...args);
  }
  static now() {
    return NOON;
  }
};
// Standard output is for outcomes alone.
for (const name of ["log", "info", "warn", "error"]) console[name] = () => {};
const { default: Provider } = await import("oidc-provider");

const providers = new Map();

function keys(generation) {
  const kinds = [
    ["RS256", "rsa", { modulusLength: 2048 }],
    ["PS256", "rsa", { modulusLength: 2048 }],
    ["ES256", "ec", { namedCurve: "P-256" }],
    ["EdDSA", "ed25519", {}],
  ];
  return kinds.map(([alg, kind, options]) => {
    // Encoded at once: exporting a key object later deadlocks in Node 20 when garbage is collected meanwhile.
    const encoding = { publicKeyEncoding: { format: "jwk" }, privateKeyEncoding: { format: "jwk" } };
    const { privateKey } = generateKeyPairSync(kind, { ...options, ...encoding });
    return { ...privateKey, alg, use: "sig", kid: `${alg}-${generation}` };
  });
}

// Each visitor signs in as the account that `login_hint` names, or refuses.
async function interact(provider, request, response) {
  const { params } = await provider.interactionDetails(request, response);
  if (params.login_hint === "nobody") {
    const refusal = { error: "access_denied", error_description: "The user said no" };
    return provider.interactionFinished(request, response, refusal);
  }
  const grant = new provider.Grant({ accountId: params.login_hint, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  const result = { login: { accountId: params.login_hint }, consent: { grantId: await grant.save() } };
  return provider.interactionFinished(request, response, result);
}

function build(issuer, { clients, accounts, claimsInIdToken = false }, generation) {
  return new Provider(issuer, {
    clients,
    jwks: { keys: keys(generation) },
    cookies: { keys: ["a secret of the tests"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    pkce: { required: () => true, methods: ["S256"] },
    conformIdTokenClaims: !claimsInIdToken,
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "picture"] },
    enabledJWA: { idTokenSigningAlgValues: ["RS256", "PS256", "ES256", "EdDSA"] },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, ...accounts[sub] }) }),
  });
}

// Cookies by name: one provider is visited at a time.
async function visit(url, until) {
  const jar = new Map();
  for (let hop = 0; hop < 20; hop += 1) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0].split(/=(.*)/s);
      jar.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${response.status}: ${await response.text()}`);
    url = new URL(location, url).href;
    if (url.startsWith(until)) return url;
  }
  throw new Error("redirected too often");
}

const commands = {
  open(command) {
    return new Promise((resolve) => {
      const server = createServer((request, response) => {
        const { provider } = providers.get(command.id);
        if (request.url.startsWith("/interaction/")) {
          interact(provider, request, response).catch((error) => response.writeHead(500).end(String(error)));
        } else {
          provider.callback()(request, response);
        }
      });
      server.listen(0, "127.0.0.1", () => {
        const issuer = `http://127.0.0.1:${server.address().port}`;
        providers.set(command.id, { server, issuer, command, generation: 1, provider: build(issuer, command, 1) });
        resolve({ issuer });
      });
    });
  },
  rotate({ of }) {
    const found = providers.get(of);
    found.generation += 1;
    found.provider = build(found.issuer, found.command, found.generation);
    return {};
  },
  async visit({ url, until }) {
    return { url: await visit(url, until) };
  },
  // As an app does that signs its users in there itself.
  async idToken({ of, client, account, callback }) {
    const { issuer } = providers.get(of);
    const verifier = "v".repeat(43);
    const query = new URLSearchParams({
      response_type: "code",
      client_id: client,
      redirect_uri: callback,
      scope: "openid email profile",
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      login_hint: account,
    });
    const back = new URL(await visit(`${issuer}/auth?${query}`, callback));
    const response = await fetch(`${issuer}/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${client}:hush`)}` },
      body: new URLSearchParams({
        grant_type: "authorization_code",
        code: back.searchParams.get("code"),
        redirect_uri: callback,
        code_verifier: verifier,
      }),
    });
    return { token: (await response.json()).id_token };
  },
  async close({ of }) {
    const { server } = providers.get(of);
    server.closeAllConnections();
    server.close();
    providers.delete(of);
    return {};
  },
};

const lines = createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const command = JSON.parse(line);
  let outcome;
  try {
    outcome = await commands[command.do](command);
  } catch (error) {
    outcome = { error: error.stack };
  }
  process.stdout.write(JSON.stringify({ id: command.id, ...outcome }) + "\n");
});
// The test run has ended.
lines.on("close", () => process.exit(0));
