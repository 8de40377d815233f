// The cell browser: every version of a few rows, and what becomes of it.
import { get } from "./api.js";
import { bytes, count, escaped, grid, h, moment, put, rawBytes, text, until } from "./format.js";

export const CAUSES = { max_age: "by age", max_versions: "pushed out by newer versions", expiry: "by its own expiry", deleted: "deleted", hidden: "hidden by a rule that can be undone", none: "" };

// Kept from one visit of the view to the next, and in the address, so that a link shows the same.
const asked = { table: "", prefix: "", dead: true, family: "", qualifier: "", value: "", versions: "", since: "", until: "", as: "text", numbers: false };
const FILTERS = ["family", "qualifier", "value", "versions", "since", "until"];  // empty: everything

export const FORMS = {
  text: ["text", (value) => text(value)],
  hex: ["hex", (value) => [...rawBytes(value)].map((b) => b.toString(16).padStart(2, "0")).join(" ")],
  int64: ["64-bit number", (value) => {
    const raw = rawBytes(value);
    return raw.length === 8 ? new DataView(raw.buffer).getBigInt64(0).toLocaleString("en-US") : text(value);
  }],
  json: ["JSON", (value) => {
    try { return JSON.stringify(JSON.parse(text(value)), null, 1); } catch { return text(value); }
  }],
};

function readAddress() {
  const given = new URLSearchParams(location.hash.split("?")[1] ?? "");
  if (!given.has("table")) return;
  Object.assign(asked, { table: given.get("table"), prefix: given.get("prefix") ?? "", dead: given.get("dead") !== "0",
    as: given.get("as") in FORMS ? given.get("as") : "text", numbers: given.get("numbers") === "1" });
  for (const name of FILTERS) asked[name] = given.get(name) ?? "";
}

// Without a new entry in the browser's history, and without a change of the view.
function writeAddress() {
  const told = new URLSearchParams({ table: asked.table });
  if (asked.prefix) told.set("prefix", asked.prefix);
  for (const name of FILTERS) if (asked[name]) told.set(name, asked[name]);
  if (!asked.dead) told.set("dead", "0");
  if (asked.as !== "text") told.set("as", asked.as);
  if (asked.numbers) told.set("numbers", "1");
  history.replaceState(null, "", `#cells?${told}`);
}

const HINTS = { family: ["Family", "regex"], qualifier: ["Column", "regex"], value: ["Value", "regex"], versions: ["Newest of each column", "all"],
  since: ["Timestamps from", "2026-01-31 or µs"], until: ["to before", "2026-02-01 or µs"] };

// As the API takes them. Throws a sentence.
function filters() {
  const told = {};
  for (const name of ["family", "qualifier", "value", "versions"]) if (asked[name]) told[name] = asked[name];
  for (const name of ["since", "until"]) if (asked[name]) told[`${name}_us`] = timeOf(asked[name]);
  return told;
}
export function timeOf(source) {
  if (/^\d{1,19}$/.test(source)) return source;
  const ms = Date.parse(/[Zz]|[+-]\d\d:\d\d$/.test(source) ? source : `${source.replace(" ", "T")}${source.includes(":") ? "Z" : ""}`);
  if (Number.isNaN(ms)) throw new Error(`"${source}" is no time: write 2026-01-31, 2026-01-31 12:00 (UTC) or microseconds.`);
  return String(ms * 1000);
}

export function cells() {
  let root = null;
  let names = [];
  let pages = null;
  let problem = "";
  readAddress();
  return { load, show };

  async function load() {
    names = (await get("tables")).tables.map((table) => table.name);
    if (pages === null && names.length > 0 && asked.table && !names.includes(asked.table)) problem = `There is no table ${asked.table}.`;
    if (!names.includes(asked.table)) asked.table = names[0] ?? "";
    if (pages === null && asked.table && !problem) await find();
    pages = pages ?? { cells: [], more: false, now_us: 0 };
    return null;
  }
  // What is shown stays until it is asked for again: nothing moves under the reader's eyes.
  function show(_, place) {
    if (root !== null) return;
    root = place;
    draw();
  }
  async function find(after = "") {
    problem = "";
    try {
      const page = await get("cells", { table: asked.table, prefix: escaped(asked.prefix), after, dead: asked.dead ? "1" : "0", limit: "200", ...filters() });
      if (after === "") pages = page;
      else pages = { ...page, cells: pages.cells.concat(page.cells) };
    } catch (error) {
      problem = error.message;
      pages = pages ?? { cells: [], more: false, now_us: 0 };
    }
  }
  function draw() {
    if (names.length === 0) {
      put(root, h("h1", {}, "Cells"), h("p", { class: "empty" }, "There are no tables yet."));
      return;
    }
    const table = h("select", { id: "cells-table", name: "table" }, names.map((name) => h("option", { value: name, selected: name === asked.table }, name)));
    const prefix = h("input", { type: "search", id: "cells-prefix", value: asked.prefix, placeholder: "all rows", spellcheck: "false", autocomplete: "off" });
    const dead = h("input", { type: "checkbox", id: "cells-dead", checked: asked.dead });
    const fields = Object.fromEntries(FILTERS.map((name) => [name, h("input", { type: name === "versions" ? "number" : "search", id: `cells-${name}`, value: asked[name], placeholder: HINTS[name][1], min: 1, size: 12, spellcheck: "false", autocomplete: "off" })]));
    const as = h("select", { id: "cells-as" }, Object.entries(FORMS).map(([name, [words]]) => h("option", { value: name, selected: name === asked.as }, words)));
    const numbers = h("input", { type: "checkbox", id: "cells-numbers", checked: asked.numbers });
    // How they are shown needs no new question.
    as.addEventListener("change", () => { asked.as = as.value; writeAddress(); draw(); document.getElementById("cells-as").focus(); });
    numbers.addEventListener("change", () => { asked.numbers = numbers.checked; writeAddress(); draw(); document.getElementById("cells-numbers").focus(); });
    const form = h("form", { class: "line", role: "search", onsubmit: async (event) => {
      event.preventDefault();
      Object.assign(asked, { table: table.value, prefix: prefix.value, dead: dead.checked });
      for (const name of FILTERS) asked[name] = fields[name].value.trim();
      writeAddress();
      await find();
      draw();
      document.getElementById("cells-prefix").focus();
    } }, h("label", {}, "Table", table), h("label", {}, "Rows that begin with", prefix), h("label", {}, "Values as", as),
    h("label", { class: "check" }, numbers, "timestamps as numbers"), h("label", { class: "check" }, dead, "dead cells too"), h("button", { type: "submit" }, "Show"),
    h("details", { class: "filters", open: FILTERS.some((name) => asked[name]) }, h("summary", {}, "Filters"), h("div", { class: "line" }, FILTERS.map((name) => h("label", {}, HINTS[name][0], fields[name])))));
    put(root, h("h1", {}, "Cells"), form, problem ? h("p", { class: "problem", role: "alert" }, problem) : null, list());
  }
  function list() {
    const shown = pages.cells;
    if (shown.length === 0 && !pages.more) return h("section", { class: "sheet" }, h("p", { class: "empty" }, problem ? "Nothing to show." : "No cells there."));
    let row = null;
    const rows = shown.map((cell) => {
      const first = cell.row !== row;
      row = cell.row;
      return h("tr", { class: `${first ? "row-start" : ""} ${cell.dead ? "is-dead" : ""}` },
        h("td", { class: "mono break" }, first ? text(cell.row) : ""), h("td", { class: "mono break" }, `${cell.family}:${text(cell.qualifier)}`),
        h("td", { class: "nowrap", title: asked.numbers ? moment(cell.timestamp_us) : cell.timestamp }, asked.numbers ? cell.timestamp : moment(cell.timestamp_us)),
        h("td", { class: "mono break value" }, FORMS[asked.as][1](cell.value), cell.value_bytes > 256 ? h("span", { class: "soft" }, ` … ${bytes(cell.value_bytes)}`) : null), fate(cell));
    });
    return h("section", { class: "sheet" }, grid([["Row"], ["Column"], ["Timestamp"], ["Value"], ["Fate"]], rows),
      h("p", { class: "soft small" }, `${count(shown.length)} cells as of ${moment(pages.now_us)}.`),
      pages.cut ? h("p", { class: "soft small" }, `The page ends within the row ${text(pages.next)}: choose columns or times to see the rest of it.`) : null,
      pages.more && shown.length === 0 ? h("p", { class: "soft small" }, `None up to row ${text(pages.next)}.`) : null,
      pages.more ? h("button", { type: "button", class: "quiet", id: "more-rows", onclick: async () => { await find(pages.next); draw(); } }, "More rows") : null);
  }
  function fate(cell) {
    const cause = CAUSES[cell.cause] ?? cell.cause;
    if (cell.dead) return h("td", { class: "fate dead", title: cell.dies_at_us === null ? "" : moment(cell.dies_at_us) }, cell.dies_at_us === null ? "dead" : `died ${until(cell.dies_at_us, pages.now_us)}`, h("div", { class: "soft small" }, cause));
    if (cell.dies_at_us === null) return h("td", { class: "fate lives" }, "lives on");
    return h("td", { class: "fate dies", title: moment(cell.dies_at_us) }, `dies ${until(cell.dies_at_us, pages.now_us)}`, h("div", { class: "soft small" }, cause));
  }
}
