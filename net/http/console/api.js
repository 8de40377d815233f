// The node, asked. A failure is an Error with the node's own sentence.

// Kept in this page alone, and gone with it: one for each node, so that none is sent to another.
const tokens = new Map();
let node = "";  // the origin of another node that is shown; empty: the page's own
export function chosenNode() { return node; }
export function useNode(origin) { node = origin === location.origin ? "" : origin; }
export function useToken(text, origin) { tokens.set(origin, text.trim()); }

async function call(origin, path, options = {}) {
  let answer;
  const token = tokens.get(origin);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  try {
    answer = await fetch(origin + path, { cache: "no-store", signal: AbortSignal.timeout(35000), ...options, headers });
  } catch {
    throw new Error("The node does not answer.");
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) {
    const error = new Error(body?.error?.message ?? `The node answered with status ${answer.status}.`);
    error.status = answer.status;
    error.origin = origin;
    throw error;
  }
  return body;
}

export function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return call(node, `/api/v1/${path}${query ? `?${query}` : ""}`);
}

export function getFrom(origin, path) { return call(origin === location.origin ? "" : origin, `/api/v1/${path}`); }

export function post(path, body) {
  return call(node, `/api/v1/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Cellar-Request": "1" },
    body: JSON.stringify(body),
  });
}
