// What the server says over the socket. The document describes HTTP only; payloads are put together from its schemas.
import type { components } from "./types.js";

type Schemas = components["schemas"];
export type ChatMessage = Schemas["ChatMessage"];

interface OfMessage {
  messageId: string;
  conversationId: string;
}

interface OfConversation {
  conversationId: string;
}

interface OfUser extends OfConversation {
  userId: string;
}

/** Every member's sockets get these; `typing:*` only those that joined the conversation. */
export interface ServerEvents {
  "message:created": ChatMessage;
  "message:updated": OfMessage & Pick<ChatMessage, "content" | "gif" | "mentions" | "metadata" | "editedAt">;
  "message:deleted": OfMessage & Pick<ChatMessage, "userDeletedAt">;
  "message:removed": OfMessage;
  "message:reaction": OfMessage & { emoji: string; userId: string; delta: 1 | -1 } & Pick<ChatMessage, "reactionCounts">;
  "message:grant": OfMessage & { grant: unknown; summary: { total: number; count: number } };
  "thread:reply_count": OfMessage & Pick<ChatMessage, "threadReplyCount">;
  "typing:start": OfUser;
  "typing:stop": OfUser;
  "member:joined": OfConversation & { member: Schemas["ConversationMember"] };
  "member:left": OfUser;
  "conversation:created": Schemas["ConversationPreview"];
  "conversation:updated": { id: string } & Partial<Schemas["Conversation"]>;
  "conversation:deleted": OfConversation;
}

/** What happens to the connection itself. */
export interface ConnectionEvents {
  connected: undefined;
  disconnected: { reason: string };
  /** The connection is back, and messages that were missed have been delivered. Fetch anew what else is shown. */
  resumed: { messages: number };
  /** The session is over; sign in and connect anew. */
  ended: undefined;
  /** Something failed and is tried again. */
  error: unknown;
}

export type Events = ServerEvents & ConnectionEvents;

export const SERVER_EVENTS = [
  "message:created",
  "message:updated",
  "message:deleted",
  "message:removed",
  "message:reaction",
  "message:grant",
  "thread:reply_count",
  "typing:start",
  "typing:stop",
  "member:joined",
  "member:left",
  "conversation:created",
  "conversation:updated",
  "conversation:deleted",
] as const satisfies (keyof ServerEvents)[];
