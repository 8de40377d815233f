// The views that only show.
import { get } from "./api.js";
import { bytes, count, duration, grid, h, moment, put, rate, s, text, until } from "./format.js";

// ---- overview

export function overview() {
  let before = null;
  return {
    load: () => Promise.all([get("shards"), get("history"), get("tables")]),
    show([shards, history, tables], root, node) {
      const loads = shards.shards.map((shard, i) => busy(shard, before?.shards[i], shards.at_us - (before?.at_us ?? 0), history, i));
      before = shards;
      put(root, h("h1", {}, "Overview"), figures(shards, history, tables, node),
        h("div", { class: "two" }, chart("Reads", "reads", history), chart("Writes", "writes", history)),
        h("section", { class: "sheet" }, h("h2", {}, "Shards"), shardTable(shards, loads)));
    },
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
  const none = h("span", { class: "soft" }, "–");
  const items = [
    ["Reads", last ? [rate(last.reads.per_second), h("small", {}, " /s")] : none],
    ["Writes", last ? [rate(last.writes.per_second), h("small", {}, " /s")] : none],
    ["Sessions", count(sum("sessions"))],
    ["Live data", bytes(total("live_bytes"))],
    ["Dead on disk", bytes(total("dead_bytes"))],
    ["Overdue", bytes(total("overdue_bytes"))],
    ["Memory taken", [bytes(sum("memtable_bytes") + sum("cache_bytes") + sum("metadata_bytes")),
      h("small", {}, ` of ${bytes(node.memory_bytes)}`)]],
    ["Log", bytes(sum("log_bytes"))],
  ];
  return h("dl", { class: "sheet figures" }, items.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

const LINES = [["p50", "p50_us"], ["p95", "p95_us"], ["p99", "p99_us"]];

function chart(title, kind, history) {
  const points = history.points;
  const last = points.at(-1)?.[kind];
  const seen = points.some((p) => p[kind].per_second > 0);
  const head = h("h2", {}, `${title}: latency over time`);
  if (!seen) {
    return h("section", { class: "sheet" }, head, h("p", { class: "empty" },
      points.length === 0 ? "The first figures come within ten seconds." : `No ${kind} in the last ${duration(points.length * history.interval_us)}.`));
  }
  const width = 560, height = 170, left = 52, bottom = 20, top = 8;
  const most = Math.max(...points.map((p) => p[kind].p99_us), 100);
  const low = 1;
  const y = (us) => top + (height - top - bottom) * (1 - Math.log10(Math.max(us, low) / 10) / Math.log10(most * 1.3 / 10));
  const x = (i) => left + (width - left - 6) * (points.length === 1 ? 1 : i / (points.length - 1));
  const drawing = s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${title}: p50 ${duration(last.p50_us)}, p95 ${duration(last.p95_us)}, p99 ${duration(last.p99_us)}` });
  for (let us = 10; us <= most * 1.3; us *= 10) {
    drawing.append(s("line", { class: "grid", x1: left, x2: width, y1: y(us), y2: y(us) }),
      s("text", { x: left - 6, y: y(us) + 4, "text-anchor": "end" }, us < 1000 ? `${us} µs` : us < 1e6 ? `${us / 1e3} ms` : `${us / 1e6} s`));
  }
  for (const [name, field] of LINES) {
    let path = "";
    points.forEach((p, i) => {
      if (p[kind].per_second === 0) return;
      const joined = i > 0 && points[i - 1][kind].per_second > 0;
      path += `${joined ? "L" : "M"}${x(i).toFixed(1)} ${y(p[kind][field]).toFixed(1)}${joined ? "" : "h0.1"}`;
    });
    drawing.append(s("path", { class: name, d: path }));
  }
  const ago = points.length * history.interval_us;
  drawing.append(s("text", { x: left, y: height - 4 }, `${duration(ago)} ago`),
    s("text", { x: width - 4, y: height - 4, "text-anchor": "end" }, "now"));
  const keys = LINES.map(([name, field]) => h("span", { class: "key" }, h("i", { class: name }), name, h("b", {}, last.per_second ? duration(last[field]) : "–")));
  return h("section", { class: "sheet" }, head, drawing, h("p", { class: "keys" }, keys));
}

function shardTable(shards, loads) {
  return grid([["Shard"], ["Load"], ["", "num"], ["Sessions", "num"], ["In flight", "num"], ["Tablets", "num"], ["On disk", "num"], ["by Zstandard", "num"], ["Memtables", "num"], ["Cache", "num"], ["of it packed", "num"], ["Longest stall", "num"]],
    shards.shards.map((shard, i) => h("tr", {},
      h("td", {}, String(shard.shard), shard.read_only ? h("span", { class: "problem" }, " read-only") : null),
      h("td", {}, h("div", { class: "bar", role: "img", "aria-label": `load ${Math.round((loads[i] ?? 0) * 100)} %` }, h("i", { class: "load", style: { width: `${(loads[i] ?? 0) * 100}%` } }))),
      h("td", { class: "num" }, loads[i] === null ? "–" : `${Math.round(loads[i] * 100)} %`),
      h("td", { class: "num" }, count(shard.sessions)), h("td", { class: "num" }, count(shard.in_flight)),
      h("td", { class: "num" }, count(shard.tablets)), h("td", { class: "num" }, bytes(shard.sstable_bytes)), h("td", { class: "num" }, bytes(shard.zstd_bytes)),
      h("td", { class: "num" }, bytes(shard.memtable_bytes)), h("td", { class: "num" }, bytes(shard.cache_bytes)), h("td", { class: "num" }, bytes(shard.cache_packed_bytes)),
      h("td", { class: "num" }, shard.longest_stall_us ? duration(shard.longest_stall_us) : "none"))));
}

// ---- tablets

export function tablets() {
  let before = null;
  let rates = new Map();
  let chosen = null;
  return {
    load: () => Promise.all([get("tables"), get("tablets", { limit: 1000 })]),
    show([tables, all], root) {
      if (before && all.at_us > before.at_us) rates = ratesOf(before, all);
      if (!before || all.at_us > before.at_us) before = all;
      const focused = document.activeElement?.dataset?.tablet;
      const most = Math.max(1, ...rates.values());
      const sections = tables.tables.map((table) => {
        const its = all.tablets.filter((tablet) => tablet.table === table.id);
        return h("section", { class: "sheet" }, h("div", { class: "table-head" }, h("h2", {}, table.name),
          h("span", { class: "soft small" }, `${count(its.length)} tablet${its.length === 1 ? "" : "s"}, ${bytes(table.figures.bytes)}`)),
        tiles(its, rates, most, chosen, (id) => { chosen = id; detail(); }));
      });
      put(root, h("h1", {}, "Tablets"),
        tables.tables.length === 0 ? h("p", { class: "empty" }, "There are no tables yet. Make one: cellar createtable NAME families=…") : null,
        tables.tables.length === 0 ? null : h("p", { class: "soft small" }, "Each tile is a part of a table, in the order of its rows. Colour: requests a second, 0 ", h("span", { class: "scale", "aria-hidden": "true" }), ` ${rate(most)}. Arrow keys move between tiles.`),
        ...sections, all.more ? h("p", { class: "soft" }, "Only the first 1,000 tablets are shown.") : null,
        h("section", { class: "sheet", id: "tablet", hidden: true, "aria-live": "polite" }));
      detail();
      if (focused) root.querySelector(`[data-tablet="${focused}"]`)?.focus();

      function detail() {
        const place = document.getElementById("tablet");
        const tablet = all.tablets.find((one) => String(one.id) === chosen);
        for (const tile of root.querySelectorAll("[data-tablet]")) tile.setAttribute("aria-pressed", String(tile.dataset.tablet === chosen));
        place.hidden = !tablet;
        if (!tablet) return;
        const lines = [["Rows", `${tablet.start === "" ? "the first" : text(tablet.start)} to ${tablet.end === "" ? "the last" : text(tablet.end)}`],
          ["Shard", String(tablet.shard)], ["Requests", `${rate(rates.get(tablet.id) ?? 0)} /s`], ["Bytes", bytes(tablet.bytes)],
          ["Packed by Zstandard", bytes(tablet.zstd_bytes)],
          ["Dead", bytes(tablet.dead_bytes)], ["Tables on disk", `${count(tablet.sstables)} in ${count(tablet.runs)} runs`], ["Epoch", String(tablet.epoch)]];
        put(place, h("h2", {}, `Tablet ${tablet.id}`), grid([["What"], ["Value"]], lines.map(([name, value]) => h("tr", {}, h("td", { class: "soft nowrap" }, name), h("td", { class: "break" }, value)))));
      }
    },
  };
}

function ratesOf(before, after) {
  const span = (after.at_us - before.at_us) / 1e6;
  const old = new Map(before.tablets.map((tablet) => [tablet.id, tablet]));
  return new Map(after.tablets.map((tablet) => {
    const was = old.get(tablet.id);
    const done = was ? tablet.reads - was.reads + tablet.writes - was.writes : 0;
    return [tablet.id, Math.max(0, done / span)];
  }));
}

function tiles(tablets, rates, most, chosen, choose) {
  const list = h("div", { class: "tiles", role: "group", "aria-label": "Tablets by row" }, tablets.map((tablet, i) => {
    const load = rates.get(tablet.id) ?? 0;
    const share = load === 0 ? 0 : Math.round(12 + 88 * Math.log1p(load) / Math.log1p(most));
    return h("button", { type: "button", "data-tablet": tablet.id, tabindex: i === 0 ? 0 : -1, "aria-pressed": String(String(tablet.id) === chosen),
      "aria-label": `tablet ${tablet.id}, shard ${tablet.shard}, ${rate(load)} requests a second, ${bytes(tablet.bytes)}`,
      title: `tablet ${tablet.id} · ${rate(load)} /s · ${bytes(tablet.bytes)}`,
      style: { backgroundColor: `color-mix(in oklab, var(--accent) ${share}%, var(--tile))` }, onclick: () => choose(String(tablet.id)) });
  }));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const all = [...list.children];
    const next = all[all.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    for (const one of all) one.tabIndex = one === next ? 0 : -1;
    next.focus();
  });
  return list;
}

// ---- compactions

export function compactions() {
  return {
    load: () => Promise.all([get("compactions"), get("shards")]),
    show([figures, shards], root) {
      const rows = figures.running.map((merge) => h("tr", {}, h("td", {}, merge.table_name || `table ${merge.table}`),
        h("td", { class: "num" }, String(merge.tablet)), h("td", { class: "num" }, String(merge.shard)),
        h("td", {}, h("progress", { max: Math.max(merge.tablet_entries, 1), value: Math.min(merge.read_entries, merge.tablet_entries), "aria-label": "entries read" })),
        h("td", { class: "num" }, `${count(merge.read_entries)} of at most ${count(merge.tablet_entries)}`),
        h("td", { class: "num" }, bytes(merge.written_bytes))));
      const sum = (name) => shards.shards.reduce((all, shard) => all + shard[name], 0);
      put(root, h("h1", {}, "Compactions"),
        h("dl", { class: "sheet figures" }, [["Ended since the start", count(figures.ended)], ["At work", count(figures.running.length)],
          ["Flushes", count(sum("flushes"))], ["Tables on disk", count(sum("sstables"))]].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
        h("section", { class: "sheet" }, h("h2", {}, "At work"), rows.length === 0 ? h("p", { class: "empty" }, "No merge runs now. Each shard merges when its tables overlap or hold what is overdue.")
          : grid([["Table"], ["Tablet", "num"], ["Shard", "num"], ["Progress"], ["Entries", "num"], ["Written", "num"]], rows)));
    },
  };
}

// ---- slow requests

export function slow() {
  return {
    load: () => get("slow-requests"),
    show(figures, root, node) {
      const bound = figures.slow_request_us;
      const rows = figures.requests.map((one) => {
        const share = (us) => ({ width: `${one.total_us ? us / one.total_us * 100 : 0}%` });
        return h("tr", {}, h("td", { class: "nowrap", title: moment(one.at_us) }, until(one.at_us, node.now_us)), h("td", { class: "mono nowrap" }, one.op), h("td", {}, one.table || h("span", { class: "soft" }, "–")),
          h("td", { class: "num" }, duration(one.total_us)),
          h("td", {}, h("div", { class: "stages", role: "img", "aria-label": `queued ${duration(one.queued_us)}, engine ${duration(one.engine_us)}, reply ${duration(one.reply_us)}` },
            h("i", { style: share(one.queued_us) }), h("i", { style: share(one.engine_us) }), h("i", { style: share(one.reply_us) }))),
          h("td", { class: "num" }, duration(one.queued_us)), h("td", { class: "num" }, duration(one.engine_us)), h("td", { class: "num" }, duration(one.reply_us)),
          h("td", { class: one.code === "ok" ? "soft" : "problem" }, one.code), h("td", { class: "soft break" }, one.client || one.peer));
      });
      put(root, h("h1", {}, "Slow requests"),
        h("p", { class: "soft" }, bound === 0 ? "None is kept: the setting slow_request is 0." : `Those that took ${duration(bound)} or more (slow_request); of each shard the last ${figures.kept_by_shard}.`),
        h("section", { class: "sheet" }, rows.length === 0 ? h("p", { class: "empty" }, "No request was that slow.")
          : [h("p", {}, ["queued", "engine", "reply"].map((name) => h("span", { class: "key" }, h("i", { class: name }), name))),
            grid([["When"], ["Operation"], ["Table"], ["Took", "num"], ["Stages"], ["Queued", "num"], ["Engine", "num"], ["Reply", "num"], ["Answer"], ["Client"]], rows)]));
    },
  };
}

// ---- settings

export function settings() {
  return {
    load: () => get("config"),
    show(figures, root) {
      put(root, h("h1", {}, "Settings"), h("p", { class: "soft" }, "As at the start. A reload (SIGHUP) puts those marked reload in force; the others need a restart."),
        h("section", { class: "sheet" }, grid([["Setting"], ["Value"], ["From"], ["Change"], ["What it is"]], figures.settings.map((one) => h("tr", {},
          h("td", { class: "mono nowrap" }, one.name), h("td", { class: "mono break" }, one.value === "" ? h("span", { class: "soft" }, "empty") : one.value),
          h("td", { class: one.origin === "default" ? "soft" : "break" }, one.origin), h("td", { class: "soft" }, one.change), h("td", { class: "soft small" }, one.help))))));
    },
  };
}
