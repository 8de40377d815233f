// The cell browser: every version of a few rows, and what becomes of it.
import { get } from "./api.js";
import { bytes, count, escaped, grid, h, moment, put, rawBytes, text, until } from "./format.js";

const CAUSES = { max_age: "by age", max_versions: "pushed out by newer versions", expiry: "by its own expiry", deleted: "deleted", hidden: "hidden by a rule that can be undone", none: "" };

// Kept from one visit of the view to the next, and in the address, so that a link shows the same.
const asked = { table: "", prefix: "", dead: true, family: "", as: "text", numbers: false };

const FORMS = {
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
  Object.assign(asked, { table: given.get("table"), prefix: given.get("prefix") ?? "", family: given.get("family") ?? "", dead: given.get("dead") !== "0",
    as: given.get("as") in FORMS ? given.get("as") : "text", numbers: given.get("numbers") === "1" });
}

// Without a new entry in the browser's history, and without a change of the view.
function writeAddress() {
  const told = new URLSearchParams({ table: asked.table });
  if (asked.prefix) told.set("prefix", asked.prefix);
  if (asked.family) told.set("family", asked.family);
  if (!asked.dead) told.set("dead", "0");
  if (asked.as !== "text") told.set("as", asked.as);
  if (asked.numbers) told.set("numbers", "1");
  history.replaceState(null, "", `#cells?${told}`);
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
      const page = await get("cells", { table: asked.table, prefix: escaped(asked.prefix), after, dead: asked.dead ? "1" : "0", limit: "200" });
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
    const family = h("input", { type: "search", id: "cells-family", value: asked.family, placeholder: "all", size: 12, spellcheck: "false", autocomplete: "off" });
    const as = h("select", { id: "cells-as" }, Object.entries(FORMS).map(([name, [words]]) => h("option", { value: name, selected: name === asked.as }, words)));
    const numbers = h("input", { type: "checkbox", id: "cells-numbers", checked: asked.numbers });
    // How they are shown needs no new question.
    as.addEventListener("change", () => { asked.as = as.value; writeAddress(); draw(); document.getElementById("cells-as").focus(); });
    numbers.addEventListener("change", () => { asked.numbers = numbers.checked; writeAddress(); draw(); document.getElementById("cells-numbers").focus(); });
    const form = h("form", { class: "line", role: "search", onsubmit: async (event) => {
      event.preventDefault();
      Object.assign(asked, { table: table.value, prefix: prefix.value, family: family.value.trim(), dead: dead.checked });
      writeAddress();
      await find();
      draw();
      document.getElementById("cells-prefix").focus();
    } }, h("label", {}, "Table", table), h("label", {}, "Rows that begin with", prefix), h("label", {}, "Family or column", family), h("label", {}, "Values as", as),
    h("label", { class: "check" }, numbers, "timestamps as numbers"), h("label", { class: "check" }, dead, "dead cells too"), h("button", { type: "submit" }, "Show"));
    put(root, h("h1", {}, "Cells"), form, problem ? h("p", { class: "problem", role: "alert" }, problem) : null, list());
  }
  function list() {
    const wanted = asked.family;
    const shown = pages.cells.filter((cell) => wanted === "" || cell.family === wanted || `${cell.family}:${text(cell.qualifier)}`.startsWith(wanted.includes(":") ? wanted : `${wanted}:`));
    if (shown.length === 0 && !pages.more) return h("section", { class: "sheet" }, h("p", { class: "empty" }, problem ? "Nothing to show." : "No cells there."));
    let row = null;
    const rows = shown.map((cell) => {
      const first = cell.row !== row;
      row = cell.row;
      return h("tr", { class: `${first ? "row-start" : ""} ${cell.dead ? "is-dead" : ""}` },
        h("td", { class: "mono break" }, first ? text(cell.row) : ""), h("td", { class: "mono break" }, `${cell.family}:${text(cell.qualifier)}`),
        h("td", { class: "nowrap", title: asked.numbers ? moment(cell.timestamp_us) : String(cell.timestamp_us) }, asked.numbers ? String(cell.timestamp_us) : moment(cell.timestamp_us)),
        h("td", { class: "mono break value" }, FORMS[asked.as][1](cell.value), cell.value_bytes > 256 ? h("span", { class: "soft" }, ` … ${bytes(cell.value_bytes)}`) : null), fate(cell));
    });
    const last = pages.cells.at(-1)?.row ?? "";
    return h("section", { class: "sheet" }, grid([["Row"], ["Column"], ["Timestamp"], ["Value"], ["Fate"]], rows),
      h("p", { class: "soft small" }, `${count(shown.length)} cells as of ${moment(pages.now_us)}.`),
      pages.more ? h("button", { type: "button", class: "quiet", onclick: async () => { await find(last); draw(); } }, "More rows") : null);
  }
  function fate(cell) {
    const cause = CAUSES[cell.cause] ?? cell.cause;
    if (cell.dead) return h("td", { class: "fate dead", title: cell.dies_at_us === null ? "" : moment(cell.dies_at_us) }, cell.dies_at_us === null ? "dead" : `died ${until(cell.dies_at_us, pages.now_us)}`, h("div", { class: "soft small" }, cause));
    if (cell.dies_at_us === null) return h("td", { class: "fate lives" }, "lives on");
    return h("td", { class: "fate dies", title: moment(cell.dies_at_us) }, `dies ${until(cell.dies_at_us, pages.now_us)}`, h("div", { class: "soft small" }, cause));
  }
}
