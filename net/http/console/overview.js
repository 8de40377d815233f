// The overview: figures of now, charts of the last quarter of an hour or day, shards.
import { get } from "./api.js";
import { chart, roundAbove } from "./charts.js";
import { bytes, count, duration, grid, h, moment, put, rate } from "./format.js";

// Kept from one visit of the view to the next.
let range = "quarter";
const RANGES = [["quarter", "15 minutes"], ["day", "24 hours"]];

export function overview() {
  let before = null;
  return {
    load: () => Promise.all([get("shards"), get("history", { range }), get("tables")]),
    show([shards, history, tables], root, node) {
      const loads = shards.shards.map((shard, i) => busy(shard, before?.shards[i], shards.at_us - (before?.at_us ?? 0), history, i));
      before = shards;
      const focused = document.activeElement?.id;
      put(root, h("div", { class: "table-head" }, h("h1", {}, "Overview"), ranges()), figures(shards, history, tables, node),
        h("div", { class: "two" }, charts(history)),
        h("section", { class: "sheet" }, h("h2", {}, "Shards"), shardTable(shards, loads)));
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    },
  };
}

function ranges() {
  return h("div", { class: "choice", role: "group", "aria-label": "Time shown in the charts" }, RANGES.map(([name, words]) =>
    h("button", { type: "button", class: "quiet", id: `range-${name}`, "aria-pressed": String(name === range),
      onclick: () => { range = name; document.dispatchEvent(new Event("cellar:changed")); } }, words)));
}

function charts(history) {
  const points = history.points;
  const span = points.length * history.interval_us;
  const common = { points, ago: `${duration(span)} ago`, when: (point) => moment(Math.round(point.at_us / 1e6) * 1e6) };
  const waits = range === "day" ? "The first figures come within two minutes." : "The first figures come within ten seconds.";
  const none = (what) => points.length === 0 ? waits : `No ${what} in the last ${duration(span)}.`;
  const perSecond = (kind) => ({ name: kind, cls: kind, value: (p) => p[kind].per_second });
  const latency = (kind, field) => (p) => p[kind].per_second === 0 ? null : p[kind][field];
  const LINES = [["p50", "p50_us"], ["p95", "p95_us"], ["p99", "p99_us"]];
  const slowest = Math.max(...points.flatMap((p) => [p.reads.p99_us, p.writes.p99_us]), 100) * 1.3;
  const latencies = (title, kind) => chart({ ...common, title: `${title}: latency`, log: true, most: slowest, format: duration, empty: none(kind),
    lines: LINES.map(([name, field]) => ({ name, cls: name, value: latency(kind, field) })) });
  const scaled = (title, lines, format, empty, bound = null) => chart({ ...common, title, lines, format, empty,
    most: bound ?? roundAbove(points.flatMap((p) => lines.map((line) => line.value(p)))) });
  const all = [
    scaled("Requests a second", [perSecond("reads"), perSecond("writes"), { name: "errors", cls: "errors", value: (p) => p.errors * 1e6 / p.span_us }], rate, waits),
    scaled("Reads from the cache", [{ name: "of the blocks", cls: "reads", value: (p) => p.cache_hits + p.cache_misses === 0 ? null : 100 * p.cache_hits / (p.cache_hits + p.cache_misses) }],
      (n) => `${Math.round(n)} %`, none("blocks were read"), 100),
    latencies("Reads", "reads"), latencies("Writes", "writes"),
    scaled("Memory", [{ name: "memtables, cache, metadata", cls: "live", value: (p) => p.memory_bytes }], bytes, waits),
    scaled("Written to tables", [{ name: "by flushes, a second", cls: "live", value: (p) => p.flushed_bytes * 1e6 / p.span_us }, { name: "by merges, a second", cls: "writes", value: (p) => p.compacted_bytes * 1e6 / p.span_us }], bytes, waits),
    scaled("Write amplification", [{ name: "bytes written to tables for a byte flushed", cls: "writes", value: amplification(points) }], (n) => `${n.toFixed(1)} ×`, none("flushes")),
    scaled("Free disk space", [{ name: "free", cls: "live", value: (p) => p.disk_free_bytes || null }], bytes, points.length === 0 ? waits : "It is not known."),
  ];
  if (range === "day") {
    all.unshift(scaled("Data on disk", [{ name: "live", cls: "live", value: (p) => p.live_bytes }, { name: "dead", cls: "dead", value: (p) => p.dead_bytes },
      { name: "of it overdue", cls: "overdue", value: (p) => p.overdue_bytes }], bytes, waits));
  }
  return all;
}

// Over the ten samples that end with a point: flushes and merges rarely fall into the same one.
function amplification(points) {
  const at = new Map(points.map((point, i) => [point, i]));
  return (point) => {
    const last = points.slice(Math.max(0, at.get(point) - 9), at.get(point) + 1);
    const sum = (field) => last.reduce((total, one) => total + one[field], 0);
    return sum("flushed_bytes") === 0 ? null : (sum("flushed_bytes") + sum("compacted_bytes")) / sum("flushed_bytes");
  };
}

function busy(shard, before, span, history, i) {
  if (before && span > 0) return Math.min(1, Math.max(0, 1 - (shard.idle_us - before.idle_us) / span));
  return history.points.at(-1)?.busy[i] ?? null;
}

function figures(shards, history, tables, node) {
  const last = history.points.at(-1);
  const sum = (name) => shards.shards.reduce((all, shard) => all + shard[name], 0);
  const total = (name) => tables.tables.reduce((all, table) => all + table.figures[name], 0);
  const perSecond = (kind) => last ? [rate(last[kind].per_second), h("small", {}, " /s")] : h("span", { class: "soft" }, "–");
  const taken = ["memtable_bytes", "released_bytes", "cache_bytes", "metadata_bytes", "token_bytes"].reduce((all, name) => all + sum(name), 0);
  const withheld = sum("withheld_bytes");
  const items = [
    ["Reads", perSecond("reads")],
    ["Writes", perSecond("writes")],
    ["Sessions", count(sum("sessions"))],
    ["Live data", bytes(total("live_bytes"))],
    ["Dead on disk", bytes(total("dead_bytes"))],
    ["Overdue", bytes(total("overdue_bytes"))],
    ["Memory taken", [bytes(taken), h("br", {}), h("small", {}, ` of ${bytes(node.memory_bytes)}, ${bytes(sum("free_bytes"))} free for data${withheld > 0 ? `, ${bytes(withheld)} withheld` : ""}`)]],
    ["Log", bytes(sum("log_bytes"))],
  ];
  return h("dl", { class: "sheet figures" }, items.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function shardTable(shards, loads) {
  return grid([["Shard"], ["Load"], ["", "num"], ["Sessions", "num"], ["In flight", "num"], ["Tablets", "num"], ["On disk", "num"], ["by Zstandard", "num"], ["Memtables", "num"], ["Cache", "num"], ["of it packed", "num"], ["Metadata", "num"], ["Free", "num"], ["Longest stall", "num"]],
    shards.shards.map((shard, i) => h("tr", {},
      h("td", {}, String(shard.shard), shard.read_only ? h("span", { class: "problem" }, " read-only") : null),
      h("td", {}, h("div", { class: "bar", role: "img", "aria-label": `load ${Math.round((loads[i] ?? 0) * 100)} %` }, h("i", { class: "load", style: { width: `${(loads[i] ?? 0) * 100}%` } }))),
      h("td", { class: "num" }, loads[i] === null ? "–" : `${Math.round(loads[i] * 100)} %`),
      h("td", { class: "num" }, count(shard.sessions)), h("td", { class: "num" }, count(shard.in_flight)),
      h("td", { class: "num" }, count(shard.tablets)), h("td", { class: "num" }, bytes(shard.sstable_bytes)), h("td", { class: "num" }, bytes(shard.zstd_bytes)),
      h("td", { class: "num" }, bytes(shard.memtable_bytes)), h("td", { class: "num" }, bytes(shard.cache_bytes)), h("td", { class: "num" }, bytes(shard.cache_packed_bytes)),
      h("td", { class: "num" }, bytes(shard.metadata_bytes)), h("td", { class: "num" }, bytes(shard.free_bytes)),
      h("td", { class: "num" }, shard.longest_stall_us ? duration(shard.longest_stall_us) : "none"))));
}
