// The query of an index: what it finds under conditions on its key parts, in its order.
import { get } from "./api.js";
import { CAUSES, FORMS, timeOf } from "./cells.js";
import { bytes, count, escaped, grid, h, moment, put, text, until } from "./format.js";
import { CREATE, orderWords, place, stateCell } from "./indexes.js";

// What hides a candidate from an index.
const HIDES = { ...CAUSES, own_age: "older than the index's own age", not_newest: "a newer version of the column counts", replaced: "has another value now, or is gone" };
const KINDS = { any: "any", is: "is", between: "from … to" };
const INPUTS = { text: "text", hex: "hex", int64: "64-bit number" };

// Kept from one visit of the view to the next, and in the address, so that a link shows the same.
const FIELDS = { value: "any", value_is: "", value_from: "", value_to: "", value_as: "text", qualifier: "any", qualifier_is: "", qualifier_from: "", qualifier_to: "",
  since: "", until: "", rows: "", limit: "20", as: "text" };  // with what is not told in the address
const asked = { table: "", index: "", reversed: false, explain: false, ...FIELDS };

function readAddress() {
  const given = new URLSearchParams(location.hash.split("?")[1] ?? "");
  if (!given.has("table")) return;
  Object.assign(asked, { table: given.get("table"), index: given.get("index") ?? "", reversed: given.get("reversed") === "1", explain: given.get("explain") === "1" });
  for (const [name, plain] of Object.entries(FIELDS)) asked[name] = given.get(name) ?? plain;
  for (const [name, choices] of [["value", KINDS], ["qualifier", KINDS], ["value_as", INPUTS], ["as", FORMS]]) if (!Object.hasOwn(choices, asked[name])) asked[name] = FIELDS[name];
}

function writeAddress() {
  const told = new URLSearchParams({ table: asked.table, index: asked.index });
  for (const [name, plain] of Object.entries(FIELDS)) if (asked[name] !== plain && !(name === "value_as" && asked[name] === "int64")) told.set(name, asked[name]);
  for (const name of ["reversed", "explain"]) if (asked[name]) told.set(name, "1");
  history.replaceState(null, "", `#indexes?${told}`);
}

// Bytes as the API takes them. Throws a sentence.
export function valueBytes(source, form) {
  const hex = (digits) => digits.replace(/../g, "\\x$&");
  if (form === "text") return escaped(source);
  if (form === "hex") {
    const digits = source.replace(/\s/g, "");
    if (!/^([0-9a-fA-F]{2})*$/.test(digits)) throw new Error(`"${source}" is no hex: write two digits for each byte.`);
    return hex(digits);
  }
  const plain = source.replace(/[\s,]/g, "");
  if (!/^-?\d{1,19}$/.test(plain) || BigInt.asIntN(64, BigInt(plain)) !== BigInt(plain)) throw new Error(`"${source}" is no 64-bit number.`);
  return hex(BigInt.asUintN(64, BigInt(plain)).toString(16).padStart(16, "0"));
}

// Conditions on key parts that the index has, as the API takes them. Throws a sentence.
function conditions(index) {
  const told = {};
  for (const [part, form] of [["value", asked.value_as], ["qualifier", "text"]]) {
    if (!index.order.includes(part)) continue;
    if (asked[part] === "is") told[part] = valueBytes(asked[`${part}_is`], form);
    if (asked[part] !== "between") continue;
    if (asked[`${part}_from`]) told[`${part}_from`] = valueBytes(asked[`${part}_from`], form);
    if (asked[`${part}_to`]) told[`${part}_to`] = valueBytes(asked[`${part}_to`], form);
  }
  for (const name of ["since", "until"]) if (index.order.includes("time") && asked[name]) told[`${name}_us`] = timeOf(asked[name].trim());
  if (asked.rows) told.prefix = escaped(asked.rows);
  for (const name of ["reversed", "explain"]) if (asked[name]) told[name] = "1";
  return told;
}

export function indexQuery() {
  let root = null;
  let tables = [];
  let page = null;
  let shown = null;  // the question whose answer is shown; the next page is of the same one
  let problem = "";
  readAddress();
  return { load, show };

  function table() { return tables.find((one) => one.name === asked.table); }
  function index() { return table()?.indexes.find((one) => one.name === asked.index); }

  async function load() {
    const all = (await get("tables")).tables;
    tables = all.filter((one) => one.indexes.length > 0);
    if (page !== null) return null;
    if (asked.table && !all.some((one) => one.name === asked.table)) problem = `There is no table ${asked.table}.`;
    else if (asked.table && asked.index && !index()) problem = `Table ${asked.table} has no index ${asked.index}.`;
    settle();
    if (index() && !problem) await find();
    page = page ?? { hits: [], more: false, now_us: 0 };
    return null;
  }
  // What is shown stays until it is asked for again; only how far an index is moves.
  function show(_, home) {
    if (root === null) {
      root = home;
      draw();
    } else {
      drawState();
    }
  }
  // Something that exists, with the form of values that it has.
  function settle() {
    if (!table()) asked.table = tables[0]?.name ?? "";
    if (!index()) asked.index = table()?.indexes[0]?.name ?? "";
    if (index()?.type === "int64") asked.value_as = "int64";
    else if (asked.value_as === "int64") asked.value_as = "text";
  }
  async function find() {
    problem = "";
    shown = null;
    page = { hits: [], more: false, now_us: 0 };
    try {
      const told = { table: asked.table, index: asked.index, limit: asked.limit, ...conditions(index()) };
      page = await get("indexes/cells", told);
      shown = told;
    } catch (error) {
      problem = error.message;
    }
  }
  async function more() {
    try {
      const next = await get("indexes/cells", { ...shown, after: page.next });
      page = { ...next, hits: page.hits.concat(next.hits) };
      problem = "";
    } catch (error) {
      problem = error.message;
    }
    draw();
  }
  function draw() {
    if (tables.length === 0) {
      put(root, h("h1", {}, "Indexes"), problem ? h("p", { class: "problem", role: "alert" }, problem) : null, h("p", { class: "empty" }, "No table has an index. Make one with ", h("code", {}, CREATE)));
      return;
    }
    put(root, h("h1", {}, "Indexes"), form(), h("div", { id: "index-is", class: "small soft" }), problem ? h("p", { class: "problem", role: "alert" }, problem) : null, list());
    drawState();
  }
  function drawState() {
    const of = index();
    const line = document.getElementById("index-is");
    if (line === null || of === undefined) return;
    put(line, h("span", { class: "mono" }, place(of)), ` by ${orderWords(of)}; ${of.match === "any" ? "any version" : "newest version"}. `, of.state?.ready ? null : stateCell(of));
  }
  function choice(id, choices, chosen, changed) {
    return h("select", { id, onchange: (event) => { changed(event.target.value); draw(); document.getElementById(id).focus(); } },
      Object.entries(choices).map(([name, words]) => h("option", { value: name, selected: name === chosen }, words)));
  }
  function field(name, label, attributes = {}) {
    return h("label", {}, label, h("input", { type: "search", id: `index-${name.replace("_", "-")}`, value: asked[name], size: 12, spellcheck: "false", autocomplete: "off", oninput: (event) => { asked[name] = event.target.value; }, ...attributes }));
  }
  function condition(part, label) {
    return [h("label", {}, label, choice(`index-${part}`, KINDS, asked[part], (kind) => { asked[part] = kind; })),
      asked[part] === "is" ? field(`${part}_is`, "exactly") : null,
      asked[part] === "between" ? field(`${part}_from`, "from", { placeholder: "no bound" }) : null,
      asked[part] === "between" ? field(`${part}_to`, "to before", { placeholder: "no bound" }) : null];
  }
  function check(name, label) {
    return h("label", { class: "check" }, h("input", { type: "checkbox", id: `index-${name}`, checked: asked[name], onchange: (event) => { asked[name] = event.target.checked; } }), label);
  }
  // Another index begins without the conditions and hits of the one before.
  function choose(name, value) {
    Object.assign(asked, { ...FIELDS, as: asked.as, limit: asked.limit, [name]: value });
    if (name === "table") asked.index = "";
    settle();
    page = { hits: [], more: false, now_us: 0 };
    shown = null;
    problem = "";
  }
  function form() {
    const of = index();
    const has = (part) => of.order.includes(part);
    const names = (all) => Object.fromEntries(all.map((one) => [one.name, one.name]));
    return h("form", { class: "line", role: "search", onsubmit: async (event) => {
      event.preventDefault();
      const focused = document.activeElement?.id;
      writeAddress();
      await find();
      draw();
      document.getElementById(focused || "index-find")?.focus();
    } }, h("label", {}, "Table", choice("index-table", names(tables), asked.table, (name) => choose("table", name))), h("label", {}, "Index", choice("index-name", names(table().indexes), asked.index, (name) => choose("index", name))),
    has("value") ? condition("value", "Value") : null,
    has("value") && asked.value !== "any" && of.type !== "int64" ? h("label", {}, "written as", choice("index-value-as", { text: INPUTS.text, hex: INPUTS.hex }, asked.value_as, (form) => { asked.value_as = form; })) : null,
    has("qualifier") ? condition("qualifier", "Qualifier") : null,
    has("time") ? [field("since", "Timestamps from", { placeholder: "2026-01-31 or µs" }), field("until", "to before", { placeholder: "2026-02-01 or µs" })] : null,
    field("rows", "Rows that begin with", { placeholder: "all rows" }), field("limit", "Hits a page", { type: "number", min: 1, max: 100 }),
    h("label", {}, "Values as", choice("index-as", Object.fromEntries(Object.entries(FORMS).map(([name, [words]]) => [name, words])), asked.as, (form) => { asked.as = form; writeAddress(); })),
    check("reversed", "reversed"), check("explain", "explain"), h("button", { type: "submit", id: "index-find" }, "Find"));
  }
  function list() {
    if (page.hits.length === 0 && !page.more) return shown === null ? null : h("section", { class: "sheet" }, h("p", { class: "empty" }, "Nothing is found."));
    const explains = shown?.explain === "1";
    const covers = page.hits.some((hit) => hit.covered.length > 0);
    const value = (cell, form = asked.as) => [FORMS[form][1](cell.value), cell.value_bytes > 256 ? h("span", { class: "soft" }, ` … ${bytes(cell.value_bytes)}`) : null];
    const numbers = index()?.type === "int64" && asked.as === "text" ? "int64" : asked.as;
    const rows = page.hits.map((hit) => h("tr", { class: hit.found ? "" : "is-dead" },
      h("td", { class: "mono break" }, text(hit.row)), h("td", { class: "mono break" }, `${hit.family}:${text(hit.qualifier)}`),
      h("td", { class: "nowrap", title: hit.timestamp }, moment(hit.timestamp_us)), h("td", { class: "mono break value" }, value(hit, numbers)),
      covers ? h("td", { class: "mono break" }, hit.covered.map((cell) => h("div", {}, h("span", { class: "soft" }, `${cell.family}:${text(cell.qualifier)} `), value(cell)))) : null,
      explains ? fate(hit) : null));
    return h("section", { class: "sheet" }, grid([["Row"], ["Column"], ["Timestamp"], ["Value"], ...(covers ? [["Covered"]] : []), ...(explains ? [["Fate"]] : [])], rows, { id: "hits" }),
      h("p", { class: "soft small" }, `${count(page.hits.length)} ${explains ? "candidates" : "hits"} as of ${moment(page.now_us)}.`),
      page.more && page.hits.length === 0 ? h("p", { class: "soft small" }, "None so far: the rest is not read yet.") : null,
      page.more ? h("button", { type: "button", class: "quiet", id: "more-hits", onclick: more }, "More hits") : null);
  }
  function fate(hit) {
    const cause = HIDES[hit.cause] ?? hit.cause;
    if (!hit.found) {
      const died = hit.dead && hit.dies_at_us !== null ? `died ${until(hit.dies_at_us, page.now_us)}` : "not found";
      return h("td", { class: "fate dead", title: hit.dies_at_us === null ? "" : moment(hit.dies_at_us) }, died, h("div", { class: "soft small" }, cause));
    }
    if (hit.dies_at_us === null) return h("td", { class: "fate lives" }, "lives on");
    return h("td", { class: "fate dies", title: moment(hit.dies_at_us) }, `dies ${until(hit.dies_at_us, page.now_us)}`, h("div", { class: "soft small" }, cause));
  }
}
