export { Client, createClient, type ClientOptions } from "./client.js";
export { TownhallError } from "./error.js";
export type { AuthUser, Session, SessionStorage } from "./session.js";
export type { components, Operations, Progress } from "./types.js";
