/** Asking the control plane: with the session of a laptop, or with the token that somebody typed in. */

const TOKEN = "jangar-token";

export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly fix: string,
    readonly problems: string[],
  ) {
    super(detail);
  }
}

type Listener = () => void;
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
    for (const listener of signedOut) listener();
  }
  try {
    const said = (await response.json()) as { detail?: string; fix?: string; problems?: string[] };
    return new ApiProblem(response.status, said.detail ?? response.statusText, said.fix ?? "", said.problems ?? []);
  } catch {
    return new ApiProblem(response.status, `the server answered ${response.status}`, "", []);
  }
}

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  let response: Response;
  try {
    const init: RequestInit = { method, headers: headers(body === undefined ? {} : { "Content-Type": "application/json" }) };
    if (body !== undefined) init.body = JSON.stringify(body);
    response = await fetch(path, init);
  } catch {
    throw new ApiProblem(0, "the control plane cannot be reached", "is jangar up?", []);
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
