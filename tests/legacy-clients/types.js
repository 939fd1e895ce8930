// The published client's own types, as JSON Schema: a reply must fit them.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import Ajv from "ajv";
import { createGenerator } from "ts-json-schema-generator";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const FOLLOWS = "@replyke/core/dist/esm/hooks/relationships/follows";
const SOURCE = `
import type * as r from "@replyke/react-js";
import type { FollowersResponse } from "${FOLLOWS}/useFetchFollowers";
import type { FollowingResponse } from "${FOLLOWS}/useFetchFollowing";
export type EntityReply = r.Entity;
export type EntitiesReply = r.Entity[];
export type CommentReply = r.Comment;
export type CommentsReply = r.Comment[];
export type CommentWithoutVotesOfItsEntityReply = (Omit<r.Comment, "entity"> & { entity: Omit<r.Entity, "upvotes" | "downvotes"> })[];
export type FoundCommentReply = { comment: r.Comment; parentComment: r.Comment | null };
export type UserReply = r.User;
export type UsersReply = r.User[];
export type AuthUserReply = r.AuthUser;
export type ListReply = r.List;
export type ListsReply = r.List[];
export type ConnectionsReply = r.ConnectionsResponse;
export type PendingReply = r.PendingConnectionListResponse;
export type ConnectionActionReply = r.ConnectionActionResponse;
export type ConnectionStatusReply = r.ConnectionStatusResponse;
export type RemovedReply = r.RemoveConnectionByUserIdResponse;
export type FollowersReply = FollowersResponse;
export type FollowingReply = FollowingResponse;
export type CountReply = { count: number };
export type StoredReply = { fileId: string; relativePath: string; publicPath: string };
export type NotificationsReply = r.AppNotification.UnifiedAppNotification[];
export type TextReply = string;
export type FlagReply = boolean;
export type AvailableReply = { available: boolean };
export type NothingReply = null;
export type AnythingReply = any;
`;

/** A field that may be absent may also be null: JSON has no undefined. */
function loosen(schema) {
  if (Array.isArray(schema)) return schema.map(loosen);
  if (schema === null || typeof schema !== "object") return schema;
  const loose = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, loosen(value)]));
  delete loose.additionalProperties;
  for (const [name, field] of Object.entries(loose.properties ?? {})) {
    if (!loose.required?.includes(name)) loose.properties[name] = { anyOf: [field, { type: "null" }] };
  }
  return loose;
}

let validators;
function load() {
  const folder = here("./node_modules/.types");
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/types.ts`, SOURCE);
  const options = { strict: true, skipLibCheck: true, moduleResolution: "bundler", module: "esnext", target: "es2022" };
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions: options, files: ["types.ts"] }));
  const generator = createGenerator({
    path: `${folder}/types.ts`,
    tsconfig: `${folder}/tsconfig.json`,
    type: "*",
    skipTypeCheck: true,
  });
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema({ $id: "client", ...loosen(generator.createSchema("*")) });
  return (type) => ajv.getSchema(`client#/definitions/${type}Reply`);
}

/** What is wrong with a value of this type, in words. */
export async function check(type, value) {
  if (!type) return [];
  validators ??= load();
  const validate = validators(type);
  if (!validate) throw new Error(`no type ${type}`);
  if (validate(value)) return [];
  return validate.errors.map((error) => `${error.instancePath} ${error.message}`);
}
