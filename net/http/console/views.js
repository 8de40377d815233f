// The views that only show.
import { get } from "./api.js";
import { bytes, count, duration, grid, h, moment, put, rate, text, until } from "./format.js";
import { ruleText } from "./rules.js";

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

// Kept from one visit of the view to the next: the group whose requests are listed.
let openGroup = "";

export function slow() {
  return {
    load: () => get("slow-requests"),
    show(figures, root, node) {
      const bound = figures.slow_request_us;
      const groups = new Map();
      for (const one of figures.requests) {
        const key = [one.op, one.table, one.code].join(" ");
        groups.set(key, [...(groups.get(key) ?? []), one]);
      }
      const sorted = [...groups].sort((a, b) => b[1].length - a[1].length);
      const focused = document.activeElement?.dataset?.group;
      put(root, h("h1", {}, "Slow requests"),
        h("p", { class: "soft" }, bound === 0 ? "None is kept: the setting slow_request is 0." : `Those that took ${duration(bound)} or more (slow_request); of each shard the last ${figures.kept_by_shard}.`),
        sorted.length === 0 ? h("section", { class: "sheet" }, h("p", { class: "empty" }, "No request was that slow."))
          : h("section", { class: "sheet" }, h("h2", {}, "By operation, table and answer"),
            grid([["Operation"], ["Table"], ["Answer"], ["Requests", "num"], ["Median", "num"], ["Longest", "num"], ["Stages of the median"], ["Last"]],
              sorted.map(([key, all]) => groupRow(key, all, node.now_us, () => { openGroup = openGroup === key ? "" : key; document.dispatchEvent(new Event("cellar:changed")); })))),
        groups.has(openGroup) ? h("section", { class: "sheet" }, h("h2", {}, openGroup), h("p", {}, ["queued", "engine", "reply"].map((name) => h("span", { class: "key" }, h("i", { class: name }), name))),
          grid([["When"], ["Took", "num"], ["Stages"], ["Queued", "num"], ["Engine", "num"], ["Reply", "num"], ["Client"]], groups.get(openGroup).map((one) => requestRow(one, node.now_us)))) : null);
      if (focused) root.querySelector(`[data-group="${CSS.escape(focused)}"]`)?.focus();
    },
  };
}

function stages(one) {
  const share = (us) => ({ width: `${one.total_us ? us / one.total_us * 100 : 0}%` });
  return h("div", { class: "stages", role: "img", "aria-label": `queued ${duration(one.queued_us)}, engine ${duration(one.engine_us)}, reply ${duration(one.reply_us)}` },
    h("i", { style: share(one.queued_us) }), h("i", { style: share(one.engine_us) }), h("i", { style: share(one.reply_us) }));
}

function groupRow(key, all, now, choose) {
  const byTime = [...all].sort((a, b) => a.total_us - b.total_us);
  const median = byTime[Math.floor((byTime.length - 1) / 2)];
  const { op, table, code } = all[0];
  return h("tr", {}, h("td", { class: "mono nowrap" }, h("button", { type: "button", class: "quiet", "data-group": key, "aria-expanded": String(key === openGroup), onclick: choose }, op)),
    h("td", { class: "break" }, table || h("span", { class: "soft" }, "–")), h("td", { class: code === "ok" ? "soft" : "problem" }, code),
    h("td", { class: "num" }, count(all.length)), h("td", { class: "num" }, duration(median.total_us)), h("td", { class: "num" }, duration(byTime.at(-1).total_us)),
    h("td", {}, stages(median)), h("td", { class: "nowrap soft" }, until(Math.max(...all.map((one) => one.at_us)), now)));
}

function requestRow(one, now) {
  return h("tr", {}, h("td", { class: "nowrap", title: moment(one.at_us) }, until(one.at_us, now)), h("td", { class: "num" }, duration(one.total_us)), h("td", {}, stages(one)),
    h("td", { class: "num" }, duration(one.queued_us)), h("td", { class: "num" }, duration(one.engine_us)), h("td", { class: "num" }, duration(one.reply_us)),
    h("td", { class: "soft break" }, one.client || one.peer));
}

// ---- audit

const ACTIONS = { create_table: "table created", drop_table: "table dropped", restore_table: "table restored", alter_table: "options changed", add_family: "family added",
  alter_family: "family changed", drop_family: "family dropped", undo_rule: "rule change undone" };

export function audit() {
  return {
    load: () => get("audit", { limit: 200 }),
    show(page, root) {
      const rules = (one) => [one.old_rule, one.new_rule].map((rule) => rule === null ? null : ruleText(rule)).filter((rule) => rule !== null).join(" → ");
      put(root, h("h1", {}, "Audit"), h("p", { class: "soft" }, "Changes of schemas and rules, the newest first."),
        h("section", { class: "sheet" }, page.entries.length === 0 ? h("p", { class: "empty" }, "Nothing has been changed yet.")
          : grid([["When"], ["Table"], ["Family"], ["Change"], ["Rule"], ["By"]], page.entries.map((one) => h("tr", {},
            h("td", { class: "nowrap" }, moment(one.at_us)), h("td", { class: "break" }, one.table), h("td", { class: "break" }, one.family), h("td", { class: "nowrap" }, ACTIONS[one.action] ?? one.action),
            h("td", { class: "mono break" }, rules(one)), h("td", { class: "soft break" }, [one.client, one.address].filter((part) => part).join(", ")))))));
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
