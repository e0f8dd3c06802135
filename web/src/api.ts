/** Asking the control plane: with the session of a laptop, or with the token that the user typed in. */

import { commandLine } from "./instance";

const TOKEN = "jangar-token";

export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly fix: string,
    readonly problems: string[],
    /** By path of a field of the request, what is wrong with its value. */
    readonly fields: Record<string, string> = {},
  ) {
    super(detail);
  }
}

type Listener = (reason: string) => void;
/** A server that does not answer for so long is not going to: the question is asked again. */
const PATIENCE = 20_000;
const signedOut = new Set<Listener>();

export function onSignedOut(listener: Listener): () => void {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

export function headers(more: Record<string, string> = {}): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return { "X-Jangar-Request": "1", ...(token ? { Authorization: `Bearer ${token}` } : {}), ...more };
}

export async function problemOf(response: Response): Promise<ApiProblem> {
  if (response.status === 401) {
    sessionStorage.removeItem(TOKEN);
  }
  const problem = await readProblem(response);
  if (response.status === 401) for (const listener of signedOut) listener(problem.detail);
  return problem;
}

async function readProblem(response: Response): Promise<ApiProblem> {
  try {
    const said = (await response.json()) as Partial<ApiProblem>;
    const { detail = response.statusText, fix = "", problems = [], fields = {} } = said;
    return new ApiProblem(response.status, detail, fix, problems, fields);
  } catch {
    return new ApiProblem(response.status, `The server answered with status ${response.status}.`, "", []);
  }
}

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  let response: Response;
  try {
    const init: RequestInit = {
      method,
      headers: headers(body === undefined ? {} : { "Content-Type": "application/json" }),
    };
    if (body !== undefined) init.body = JSON.stringify(body);
    if (method === "GET") init.signal = AbortSignal.timeout(PATIENCE);
    response = await fetch(path, init);
  } catch {
    throw new ApiProblem(
      0,
      "The control plane does not answer.",
      `Check it with: ${commandLine("jangar status")}`,
      [],
    );
  }
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as T;
}

export const get = <T>(path: string): Promise<T> => ask<T>("GET", path);
export const post = <T>(path: string, body?: unknown): Promise<T> => ask<T>("POST", path, body);
export const remove = <T>(path: string): Promise<T> => ask<T>("DELETE", path);

export function runPath(namespace: string, name: string): string {
  return `/v1/namespaces/${encodeURIComponent(namespace)}/runs/${encodeURIComponent(name)}`;
}
