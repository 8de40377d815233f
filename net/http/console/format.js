// Numbers, times and bytes as people read them; and elements without markup in strings.

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

export function count(n) { return Math.round(n).toLocaleString("en-US"); }

export function rate(n) { return n >= 100 ? count(n) : n.toFixed(n >= 10 ? 0 : 1); }

// "850 µs", "1.25 ms", "3.2 s", "4 min", "2 h 10 min", "3 d 4 h".
export function duration(us) {
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${trim(us / 1e3)} ms`;
  if (us < 6e7) return `${trim(us / 1e6)} s`;
  const minutes = Math.round(us / 6e7);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return hours % 24 && days < 30 ? `${days} d ${hours % 24} h` : `${days} d`;
}
function trim(x) { return x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2); }

// "just now", "12 s ago", "in 2 h 10 min".
export function until(us, now) {
  const away = Math.abs(us - now);
  if (away < 1e6) return us <= now ? "just now" : "in a moment";
  const words = away < 6e7 ? `${Math.round(away / 1e6)} s` : duration(away);
  return us <= now ? `${words} ago` : `in ${words}`;
}

export function moment(us) {
  const at = new Date(us / 1000);
  if (Number.isNaN(at.getTime())) return String(us);
  return at.toISOString().replace("T", " ").replace(/\.000Z$/, "Z");
}

// Bytes come as ASCII with escapes.
export function rawBytes(escaped) {
  const named = { n: 10, t: 9, r: 13 };
  const out = [];
  for (let i = 0; i < escaped.length; i++) {
    if (escaped[i] !== "\\") { out.push(escaped.charCodeAt(i)); continue; }
    const c = escaped[++i];
    if (c === "x") { out.push(parseInt(escaped.slice(i + 1, i + 3), 16)); i += 2; }
    else out.push(named[c] ?? c.charCodeAt(0));
  }
  return new Uint8Array(out);
}

// What is UTF-8 is shown as the text that it is.
export function text(escaped) {
  if (!escaped.includes("\\")) return escaped;
  const out = rawBytes(escaped);
  if (out.some((b) => b < 32 || b === 127)) return escaped;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(out);
  } catch {
    return escaped;
  }
}

// And back: what is not printable ASCII as \xHH.
export function escaped(plain) {
  let out = "";
  for (const b of new TextEncoder().encode(plain)) {
    if (b === 92 || b < 32 || b > 126) out += `\\x${b.toString(16).padStart(2, "0")}`;
    else out += String.fromCharCode(b);
  }
  return out;
}

// h("td", {class: "num"}, "text", element, ...): a null child is left out.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
}

// What an element holds from now on; a null is left out.
export function put(root, ...children) {
  root.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

// A table with headings; columns: [heading, class].
export function grid(columns, rows, attributes = {}) {
  return h("div", { class: "scroll" }, h("table", attributes,
    h("thead", {}, h("tr", {}, columns.map(([name, cls]) => h("th", { scope: "col", class: cls }, name)))),
    h("tbody", {}, rows)));
}
