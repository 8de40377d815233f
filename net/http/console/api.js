// The node, asked. A failure is an Error with the node's own sentence.

// Kept in this page alone, and gone with it.
let token = "";
export function useToken(text) { token = text.trim(); }

async function call(path, options = {}) {
  let answer;
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  try {
    answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(35000), ...options, headers });
  } catch {
    throw new Error("The node does not answer.");
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) {
    const error = new Error(body?.error?.message ?? `The node answered with status ${answer.status}.`);
    error.status = answer.status;
    throw error;
  }
  return body;
}

export function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return call(`/api/v1/${path}${query ? `?${query}` : ""}`);
}

export function post(path, body) {
  return call(`/api/v1/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Cellar-Request": "1" },
    body: JSON.stringify(body),
  });
}
