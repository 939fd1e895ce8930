// How the next part of a list is asked for. Most lists have numbered pages; the two of chat have a moment to go on from.

export type Query = Record<string, unknown>;

type List = Record<string, unknown>;
type Item = Record<string, unknown>;

export function itemsOf(list: List): Item[] {
  return (list.data ?? list.messages ?? list.conversations ?? []) as Item[];
}

/** The query of the next part, or null after the last one. */
export function nextOf(list: List, query: Query): Query | null {
  if (list.pagination) {
    const { page, hasMore } = list.pagination as { page: number; hasMore: boolean };
    return hasMore ? { ...query, page: page + 1 } : null;
  }
  if (!list.hasMore) return null;
  if (list.conversations) {
    const last = itemsOf(list).at(-1);
    return { ...query, cursor: last?.lastMessageAt, cursorCreatedAt: last?.createdAt };
  }
  // No two messages of a conversation have the same time. Threads begin with the oldest.
  const isAscending = query.sort ? query.sort === "asc" : query.parentId !== undefined;
  return isAscending ? { ...query, after: list.newestCreatedAt } : { ...query, before: list.oldestCreatedAt };
}
