// What the generated document says about a path, in the form that the client's methods need. Nothing here knows an
// operation of the API: they are all in `schema.ts`, which the build generates.
import type { paths as Served } from "./schema.js";

export type { components } from "./schema.js";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** Paths below the project, without those that the second set names again. */
type Below<Paths, Known = never> = {
  [Path in keyof Paths as Path extends `/v8/{projectId}${infer Rest}`
    ? Rest extends Known
      ? never
      : Rest
    : never]: Paths[Path];
};

type Common = Below<Served>;

/** The operations of every project, and those on the tables of one project. */
export type Operations<Own = {}> = Common & Below<Own, keyof Common>;

/** Paths that have an operation of this method. */
export type PathOf<Paths, M extends Method> = {
  [Path in keyof Paths]: Paths[Path] extends { [K in M]: infer Operation }
    ? [Operation] extends [never]
      ? never
      : Path
    : never;
}[keyof Paths] &
  keyof Paths &
  string;

type OperationOf<Paths, Path extends keyof Paths, M extends Method> = Paths[Path] extends { [K in M]: infer Operation }
  ? Operation
  : never;

type ContentOf<Response> = Response extends { content: { "application/json": infer Content } }
  ? Content
  : Response extends { content: { "text/plain": infer Text } }
    ? Text
    : undefined;

/** The body of a successful reply. */
export type ReplyOf<Paths, Path extends keyof Paths, M extends Method> =
  OperationOf<Paths, Path, M> extends { responses: infer Responses }
    ? { [Status in keyof Responses]: Status extends 200 | 201 | 202 | 204 ? ContentOf<Responses[Status]> : never }[keyof Responses]
    : never;

type BodyOf<Operation> = Operation extends { requestBody?: infer Body }
  ? NonNullable<Body> extends { content: infer Content }
    ? Content[keyof Content]
    : never
  : never;

type PathParametersOf<Operation> = Operation extends { parameters: { path: infer Parameters } } ? Omit<Parameters, "projectId"> : {};

type QueryOf<Operation> = Operation extends { parameters: { query?: infer Query } } ? NonNullable<Query> : {};

/** A key with this name: required unless everything in it is optional, absent when there is nothing to give. */
type Part<Name extends string, Content> = [Content] extends [never]
  ? {}
  : keyof Content extends never
    ? {}
    : {} extends Content
      ? { [K in Name]?: Content }
      : { [K in Name]: Content };

export interface Transfer {
  signal?: AbortSignal;
  /** Called while the body is sent. */
  onProgress?: (progress: Progress) => void;
}

export interface Progress {
  /** Bytes of the body that were sent. */
  loaded: number;
  /** Bytes of the whole body, which is a little more than the files in it. */
  total: number;
}

export type RequestOf<Paths, Path extends keyof Paths, M extends Method> = Transfer &
  Part<"path", PathParametersOf<OperationOf<Paths, Path, M>>> &
  Part<"query", QueryOf<OperationOf<Paths, Path, M>>> &
  Part<"body", BodyOf<OperationOf<Paths, Path, M>>>;

/** The argument may be left out when nothing in it is required. */
export type Arguments<Request> = {} extends Request ? [request?: Request] : [request: Request];

/** One element of a list, whatever the list calls its elements. */
export type ItemOf<List> = List extends { data: (infer Item)[]; pagination: unknown }
  ? Item
  : List extends { messages: (infer Item)[]; hasMore: boolean }
    ? Item
    : List extends { conversations: (infer Item)[]; hasMore: boolean }
      ? Item
      : never;

/** Paths of lists that come in parts. */
export type ListPath<Paths> = {
  [Path in PathOf<Paths, "get">]: [ItemOf<ReplyOf<Paths, Path, "get">>] extends [never] ? never : Path;
}[PathOf<Paths, "get">] &
  keyof Paths &
  string;
