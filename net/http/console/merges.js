// Merges: those at work, those that ended and why, and what tables cost in writes.
import { get } from "./api.js";
import { bytes, count, duration, grid, h, moment, put, until } from "./format.js";

const REASONS = {
  runs: ["many runs", "reads would visit too many runs"],
  dead_table: ["dead cells", "a table was rewritten without what had died in it"],
  dead_runs: ["overwritten cells", "runs were merged to drop what newer data or an older rule had killed"],
  removal: ["wholly dead", "tables that were wholly dead were removed unread"],
  request: ["asked for", "a client or a merge of tablets asked for it"],
  index: ["indexes", "a table was rewritten for indexes that were created or dropped"],
};

// Kept from one visit of the view to the next.
const shown = { reason: "", table: "" };

export function compactions() {
  return {
    load: () => Promise.all([get("compactions"), get("shards"), get("history", { range: "day" }), get("node")]),
    show([figures, shards, history, node], root) {
      const sum = (name) => shards.shards.reduce((all, shard) => all + shard[name], 0);
      const focused = document.activeElement?.id;
      put(root, h("h1", {}, "Compactions"),
        h("dl", { class: "sheet figures" }, [["Ended since the start", count(figures.ended)], ["At work", count(figures.running.length)],
          ["Flushes", count(sum("flushes"))], ["Written again", amplification(history)]].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
        h("section", { class: "sheet" }, h("h2", {}, "At work"), atWork(figures.running)),
        h("section", { class: "sheet", id: "ended" }, h("h2", {}, "Ended"), ended(figures.recent, node.clock.trusted_us)));
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    },
  };
}

// Bytes that merges wrote for a byte that flushes wrote, of the minutes in the history.
function amplification(history) {
  const flushed = history.points.reduce((all, point) => all + point.flushed_bytes, 0);
  const merged = history.points.reduce((all, point) => all + point.compacted_bytes, 0);
  if (flushed === 0) return h("span", { class: "soft" }, "–");
  return [`${(merged / flushed).toFixed(2)} ×`, h("small", {}, ` of ${bytes(flushed)} flushed in 24 h`)];
}

function atWork(running) {
  if (running.length === 0) return h("p", { class: "empty" }, "No merge runs now. Each shard merges when its tables overlap or hold what is overdue.");
  return grid([["Table"], ["Tablet", "num"], ["Shard", "num"], ["Progress"], ["Entries", "num"], ["Written", "num"]], running.map((merge) => h("tr", {}, h("td", {}, merge.table_name || `table ${merge.table}`),
    h("td", { class: "num" }, String(merge.tablet)), h("td", { class: "num" }, String(merge.shard)),
    h("td", {}, h("progress", { max: Math.max(merge.tablet_entries, 1), value: Math.min(merge.read_entries, merge.tablet_entries), "aria-label": "entries read" })),
    h("td", { class: "num" }, `${count(merge.read_entries)} of at most ${count(merge.tablet_entries)}`),
    h("td", { class: "num" }, bytes(merge.written_bytes)))));
}

function ended(recent, now) {
  if (recent.length === 0) return h("p", { class: "empty" }, "None has ended since the start.");
  const changed = () => document.dispatchEvent(new Event("cellar:changed"));
  const names = [...new Set(recent.map((merge) => merge.table_name))].sort();
  const choose = (field, label, options) => h("label", {}, label, h("select", { id: `merges-${field}`, onchange: (event) => { shown[field] = event.target.value; changed(); } },
    h("option", { value: "" }, "all"), options.map(([value, words]) => h("option", { value, selected: value === shown[field] }, words))));
  const rows = recent.filter((merge) => (!shown.reason || merge.reason === shown.reason) && (!shown.table || merge.table_name === shown.table));
  return [h("form", { class: "line", onsubmit: (event) => event.preventDefault() }, choose("reason", "Reason", Object.entries(REASONS).map(([value, [words]]) => [value, words])),
    choose("table", "Table", names.map((name) => [name, name || "dropped"]))),
  rows.length === 0 ? h("p", { class: "empty" }, "None of these.") : grid([["Ended"], ["Table"], ["Tablet", "num"], ["Shard", "num"], ["Why"], ["Took", "num"], ["Tables", "num"], ["Read", "num"], ["Written", "num"], ["Cells dropped", "num"]],
    rows.map((merge) => h("tr", {}, h("td", { class: "nowrap", title: moment(merge.ended_us) }, until(merge.ended_us, now)), h("td", { class: "break" }, merge.table_name || h("span", { class: "soft" }, `table ${merge.table}`)),
      h("td", { class: "num" }, String(merge.tablet)), h("td", { class: "num" }, String(merge.shard)), h("td", { class: "nowrap", title: REASONS[merge.reason]?.[1] ?? "" }, REASONS[merge.reason]?.[0] ?? merge.reason),
      h("td", { class: "num" }, duration(merge.took_us)), h("td", { class: "num" }, `${count(merge.tables_in)} → ${count(merge.tables_out)}`), h("td", { class: "num" }, merge.reason === "removal" ? "–" : bytes(merge.bytes_in)),
      h("td", { class: "num" }, bytes(merge.bytes_out)), h("td", { class: "num" }, count(merge.left_cells)))))];
}
