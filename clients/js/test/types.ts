// What the types must allow and refuse; compiled together with the README's snippets.
import { createClient } from "@townhall/client";
import { connect } from "@townhall/client/realtime";
import type { paths } from "./townhall.js";

const client = createClient({ url: "", projectId: "" });
const garden = createClient<paths>({ url: "", projectId: "" });

export async function allowed(): Promise<unknown[]> {
  const entity = await client.get("/entities/{entityId}", { path: { entityId: "" } });
  const title: string | null | undefined = entity.title;
  const nothing: undefined = await client.delete("/entities/{entityId}", { path: { entityId: "" } });
  const count: number = await client.get("/app-notifications/count");
  const { row } = await garden.post("/db/Plants", { body: { name: "Fern" } });
  const height: number | null | undefined = row.height;
  await client.post("/storage", { body: { file: new Blob() } });
  await client.post("/auth/sign-up", { body: { email: "", password: "", avatarFile: new Blob(), "avatarFile.options": { mode: "" } } });
  await garden.patch("/users/{userId}", { path: { userId: "" }, body: { avatarFile: new Blob() } });
  return [title, nothing, count, height];
}

export async function refused(): Promise<void> {
  // @ts-expect-error: there is no such path
  await client.get("/entitys");
  // @ts-expect-error: there is no such method
  await client.put("/entities");
  // @ts-expect-error: the id is missing
  await client.get("/entities/{entityId}");
  // @ts-expect-error: a title is text
  await client.post("/entities", { body: { title: 1 } });
  // @ts-expect-error: a password is missing
  await client.signIn({ email: "" });
  // @ts-expect-error: there is no such field
  (await client.get("/entities/{entityId}", { path: { entityId: "" } })).titel;
  // @ts-expect-error: no list
  client.items("/projects/lean");
  // @ts-expect-error: a plant needs a name
  await garden.post("/db/Plants", { body: { height: 1 } });
  // @ts-expect-error: a plant has no colour
  for await (const plant of garden.items("/db/Plants")) plant.colour;
  // @ts-expect-error: the table of another project
  await client.post("/db/Plants", { body: { name: "Fern" } });
  // @ts-expect-error: there is no such event
  connect(client).on("message:create", () => {});
}
