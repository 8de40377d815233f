// Tables: their rules in words, what these are doing, and the editor of a rule.
import { get, post } from "./api.js";
import { bytes, count, duration, grid, h, moment, put, text, until } from "./format.js";
import { indexSection } from "./indexes.js";
import { missedLine, standing, whyButton } from "./reclaim.js";
import { parseRule, ruleText, ruleWords } from "./rules.js";
import { addFamily, alterReclaim, createTable, dropFamily, dropTable, restoreTables } from "./schema.js";

const dialog = document.getElementById("dialog");

// Kept from one visit of the view to the next.
const asked = { search: "", sort: "name" };
const opened = new Map();  // by table, where the reader has decided
const MANY = 12;  // more tables than these begin closed

const ORDERS = {
  name: ["by name", (a, b) => a.name < b.name ? -1 : 1],
  size: ["largest first", (a, b) => size(b) - size(a)],
  dead: ["most dead data first", (a, b) => b.figures.dead_bytes - a.figures.dead_bytes],
  overdue: ["most overdue first", (a, b) => b.figures.overdue_bytes - a.figures.overdue_bytes],
};
function size(table) { return table.figures.live_bytes + table.figures.dead_bytes; }

export function tables() {
  const list = h("div", {});
  let last = null;
  return {
    load: async () => {
      const [all, reclaim] = await Promise.all([get("tables"), standing()]);
      return { ...all, reclaim };
    },
    // The form stays as it is, so that a refresh does not disturb the typing in it.
    show(all, root) {
      last = all;
      if (!list.isConnected) put(root, h("h1", {}, "Tables"), form(() => fill(list, last), () => last.now_us), list);
      fill(list, all);
    },
  };
}

function form(changed, last_us) {
  const search = h("input", { type: "search", id: "tables-search", value: asked.search, placeholder: "part of a name", spellcheck: "false", autocomplete: "off",
    oninput: (event) => { asked.search = event.target.value; changed(); } });
  const sort = h("select", { id: "tables-sort", onchange: (event) => { asked.sort = event.target.value; changed(); } },
    Object.entries(ORDERS).map(([name, [words]]) => h("option", { value: name, selected: name === asked.sort }, words)));
  return h("form", { class: "line", role: "search", onsubmit: (event) => event.preventDefault() }, h("label", {}, "Tables and families with", search), h("label", {}, "Order", sort),
    h("button", { type: "button", id: "new-table", onclick: createTable }, "New table"), h("button", { type: "button", class: "quiet", id: "dropped", onclick: () => restoreTables(last_us()) }, "Dropped tables"));
}

function matches(table) {
  const wanted = asked.search.trim().toLowerCase();
  return [table.name, ...table.families.map((family) => family.name)].some((name) => name.toLowerCase().includes(wanted));
}

function fill(list, all) {
  const focused = document.activeElement?.id;
  const chosen = all.tables.filter(matches).sort(ORDERS[asked.sort][1]);
  put(list,
    all.tables.length === 0 ? h("p", { class: "empty" }, "There are no tables yet. Make one with New table, or cellar createtable NAME families=…") : null,
    all.tables.length > 0 && chosen.length === 0 ? h("p", { class: "empty" }, "No table has such a name.") : null,
    missedLine(all.reclaim, all.now_us),
    ...chosen.map((table) => sheet(table, all.now_us, all.reclaim, opened.get(table.name) ?? all.tables.length <= MANY)));
  if (focused && list.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused).focus({ preventScroll: true });
}

function sheet(table, now, reclaim, open) {
  const families = table.families.map((family) => h("tr", {}, h("td", {}, family.name),
    h("td", {}, h("div", {}, ruleWords(family.rule), family.timestamps === "time" ? null : h("span", { class: "soft" }, ` Timestamps are ${family.timestamps === "expiry" ? "expiries" : "sequence numbers"}.`)),
      h("code", { class: "soft" }, ruleText(family.rule)),
      family.undo_until_us ? h("div", { class: "small soft" }, `The last change can be undone for ${duration(family.undo_until_us - now)}.`) : null),
    h("td", { class: "num" }, h("button", { type: "button", class: "quiet", id: `history-${table.id}-${family.name}`, "aria-label": `Earlier rules of ${table.name}, family ${family.name}`, onclick: () => history(table, family, now) }, "History"), " ",
      h("button", { type: "button", class: "quiet", id: `edit-${table.id}-${family.name}`, "aria-label": `Edit the rule of ${table.name}, family ${family.name}`, onclick: () => edit(table, family) }, "Edit rule"), " ",
      h("button", { type: "button", class: "quiet", id: `drop-${table.id}-${family.name}`, "aria-label": `Drop family ${family.name} of ${table.name}`, onclick: () => dropFamily(table, family) }, "Drop"))));
  const head = h("div", { class: "table-head" }, h("h2", {}, table.name),
    h("span", { class: "soft small" }, `${bytes(size(table))}, ${count(table.figures.tablets)} tablet${table.figures.tablets === 1 ? "" : "s"}, ${count(table.figures.sstables)} tables on disk, dead bytes leave within ${duration(table.reclaim_within_us)}`));
  return h("details", { class: "sheet", "data-table": table.name, open, ontoggle: (event) => { if (event.target.open !== open) opened.set(table.name, event.target.open); } },
    h("summary", { id: `table-${table.id}` }, head),
    table.families.length === 0 ? h("p", { class: "empty" }, "It has no families.") : grid([["Family"], ["Retention"], ["", "num"]], families, { class: "families" }),
    doing(table, now, whyButton(table, reclaim)),
    indexSection(table),
    h("p", { class: "small links" }, h("a", { href: `#cells?${new URLSearchParams({ table: table.name })}` }, "Its cells"),
      h("button", { type: "button", class: "quiet", id: `add-${table.id}`, onclick: () => addFamily(table) }, "Add a family"), h("button", { type: "button", class: "quiet", id: `reclaim-${table.id}`, onclick: () => alterReclaim(table) }, "Reclaiming"),
      h("button", { type: "button", class: "quiet", id: `droptable-${table.id}`, onclick: () => dropTable(table) }, "Drop the table")));
}

// The earlier rules, the newest first.
async function history(table, family, now) {
  const body = h("div", { "aria-live": "polite" }, h("p", { class: "soft" }, "Asking the node…"));
  dialog.replaceChildren(h("form", { method: "dialog" }, h("h1", { id: "dialog-title" }, `Rules of ${table.name}, family ${family.name}`), body,
    h("div", { class: "actions" }, h("button", { type: "submit", class: "quiet" }, "Close"))));
  dialog.showModal();
  try {
    const told = await get("retention/history", { table: table.name, family: family.name });
    const line = (words, rule, until) => h("tr", {}, h("td", { class: "nowrap soft" }, words), h("td", {}, h("div", {}, ruleWords(rule)), h("code", { class: "soft" }, ruleText(rule))), h("td", { class: "small soft" }, until));
    const past = [...told.past].reverse();
    put(body, grid([["When"], ["Rule"], ["Undo"]], [line("now", told.rule, ""),
      ...past.map((one, i) => line(`until ${moment(one.until_us)}`, one.rule, i === 0 && one.undo_until_us > now ? `for ${duration(one.undo_until_us - now)} more, by Edit rule` : ""))]),
      past.length === 0 ? h("p", { class: "soft" }, "The rule has never been changed.") : null);
  } catch (error) {
    put(body, h("p", { class: "problem", role: "alert" }, error.message));
  }
}

function doing(table, now, why) {
  const of = table.figures;
  const overdue = Math.min(of.overdue_bytes, of.dead_bytes);
  const all = Math.max(of.live_bytes + of.dead_bytes, 1);
  const share = (n) => ({ width: `${n / all * 100}%` });
  const key = (cls, name, n) => h("span", { class: "key" }, h("i", { class: cls }), name, h("b", {}, bytes(n)));
  let words = "Nothing is dead on disk.";
  if (of.dead_bytes > 0) words = `The oldest dead cell died ${of.oldest_death_us === null ? "a while ago" : until(of.oldest_death_us, now)}.`;
  if (of.next_reclaim_us !== null) words += of.next_reclaim_us <= now ? " Reclaiming is due now." : ` Next reclaim ${until(of.next_reclaim_us, now)}.`;
  return h("div", { class: "doing" },
    h("div", { class: "bar", role: "img", "aria-label": `live ${bytes(of.live_bytes)}, dead ${bytes(of.dead_bytes)}, overdue ${bytes(of.overdue_bytes)}` },
      h("i", { class: "live", style: share(of.live_bytes) }), h("i", { class: "dead", style: share(of.dead_bytes - overdue) }), h("i", { class: "overdue", style: share(overdue) })),
    h("div", {}, key("live", "live", of.live_bytes), key("dead", "dead", of.dead_bytes), key("overdue", "of it overdue", of.overdue_bytes), h("span", { class: "soft small" }, words), why));
}

// Apply is there only for the very rule that was previewed.
function edit(table, family) {
  let previewed = null;
  const field = h("input", { type: "text", id: "rule", value: ruleText(family.rule), spellcheck: "false", autocomplete: "off", "aria-describedby": "rule-words" });
  const words = h("p", { class: "hint", id: "rule-words", "aria-live": "polite" });
  const result = h("div", { "aria-live": "polite" });
  const previewButton = h("button", { type: "submit", class: "quiet" }, "Preview");
  const applyButton = h("button", { type: "button", disabled: true, onclick: apply }, "Apply");
  const undoButton = family.undo_until_us ? h("button", { type: "button", class: "quiet", onclick: undo }, "Undo the last change") : null;
  const form = h("form", { method: "dialog", onsubmit: preview },
    h("h1", { id: "dialog-title" }, `Retention of ${table.name}, family ${family.name}`),
    h("p", { class: "soft" }, `Now: ${ruleWords(family.rule)}`),
    h("label", {}, "New rule", field), words, result,
    h("div", { class: "actions" }, undoButton, h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel"), previewButton, applyButton));
  field.addEventListener("input", judge);
  dialog.replaceChildren(form);
  dialog.showModal();
  field.focus();
  field.select();
  judge();

  function judge() {
    applyButton.disabled = true;
    previewed = null;
    result.replaceChildren();
    try {
      words.textContent = ruleWords(parseRule(field.value));
      words.classList.remove("problem");
      previewButton.disabled = false;
    } catch (error) {
      words.textContent = error.message;
      words.classList.add("problem");
      previewButton.disabled = true;
    }
  }
  function show(cls, ...lines) { result.replaceChildren(h("div", { class: `result ${cls}` }, lines)); }
  async function preview(event) {
    event.preventDefault();
    const rule = parseRule(field.value);
    const source = field.value;
    previewButton.disabled = true;
    show("", h("p", {}, "Counting what the rule would kill…"));
    try {
      const report = await post("retention/preview", { table: table.name, family: family.name, rule });
      if (field.value !== source) return;
      previewed = rule;
      applyButton.disabled = false;
      show("", ...told(report));
    } catch (error) {
      show("error", h("p", { class: "problem" }, error.message));
    } finally {
      previewButton.disabled = false;
    }
  }
  function told(report) {
    const none = report.kills.cells === 0;
    const lines = [h("p", {}, none ? "Kills nothing that is there now." : `Kills ${count(report.kills.cells)} cells (${bytes(report.kills.bytes)}) in ${count(report.kills.rows)} rows, of ${count(report.cells_seen)} cells in ${count(report.rows_seen)} rows that were counted.`)];
    if (!none) lines.push(h("p", { class: "soft" }, report.undo_window_us > 0 ? `They stay on disk and can be had back for ${duration(report.undo_window_us)}.` : "This family has no undo window: they cannot be had back."));
    if (report.sample_rows.length > 0) lines.push(h("p", { class: "soft small break" }, "Rows that lose cells: ", h("span", { class: "mono" }, report.sample_rows.slice(0, 8).map(text).join(", ")), report.kills.rows > 8 ? ", …" : ""));
    return lines;
  }
  async function change(path, body) {
    applyButton.disabled = true;
    try {
      await post(path, { table: table.name, family: family.name, expected_version: table.version, ...body });
      dialog.close();
      document.dispatchEvent(new Event("cellar:changed"));
    } catch (error) {
      show("error", h("p", { class: "problem" }, error.message));
    }
  }
  function apply() { if (!applyButton.disabled) change("retention/apply", { rule: previewed }); }
  function undo() { change("retention/undo", {}); }
}
