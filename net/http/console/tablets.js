// Tablets: their load now as tiles, over the last hour as a heat map, and the details of one.
import { get } from "./api.js";
import { bytes, count, grid, h, moment, put, rate, text } from "./format.js";

// Kept from one visit of the view to the next.
let chosen = null;

export function tablets() {
  let before = null;
  let rates = new Map();
  return {
    load: () => Promise.all([get("tables"), get("tablets", { limit: 1000 }), get("heat")]),
    show([tables, all, heat], root) {
      if (before && all.at_us > before.at_us) rates = ratesOf(before, all);
      if (!before || all.at_us > before.at_us) before = all;
      const focused = document.activeElement?.dataset?.tablet;
      const most = Math.max(1, ...rates.values());
      const choose = (id) => { chosen = id; detail(); };
      const sections = tables.tables.map((table) => {
        const its = all.tablets.filter((tablet) => tablet.table === table.id);
        return h("section", { class: "sheet" }, h("div", { class: "table-head" }, h("h2", {}, table.name),
          h("span", { class: "soft small" }, `${count(its.length)} tablet${its.length === 1 ? "" : "s"}, ${bytes(table.figures.bytes)}`)),
        tiles(its, rates, most, choose));
      });
      const names = new Map(tables.tables.map((table) => [table.id, table.name]));
      put(root, h("h1", {}, "Tablets"),
        tables.tables.length === 0 ? h("p", { class: "empty" }, "There are no tables yet. The view Tables makes one.") : null,
        tables.tables.length === 0 ? null : h("p", { class: "soft small" }, "Each tile is a part of a table, in the order of its rows. ", rates.size === 0 ? "Their load is being measured." : ["Colour: requests a second, 0 ", h("span", { class: "scale", "aria-hidden": "true" }), ` ${rate(most)}. Arrow keys move between tiles.`]),
        h("div", { class: "beside" }, h("div", {}, sections, all.more ? h("p", { class: "soft" }, "Only the first 1,000 tablets are shown.") : null,
          tables.tables.length === 0 ? null : map(heat, all.tablets, names, choose)),
        h("section", { class: "sheet detail", id: "tablet", hidden: true, "aria-live": "polite" })));
      detail();
      if (focused) root.querySelector(`[data-tablet="${focused}"]`)?.focus();

      function detail() {
        const place = document.getElementById("tablet");
        const tablet = all.tablets.find((one) => String(one.id) === chosen);
        for (const tile of root.querySelectorAll("button[data-tablet]")) tile.setAttribute("aria-pressed", String(tile.dataset.tablet === chosen));
        place.hidden = !tablet;
        if (!tablet) return;
        const lines = [["Table", names.get(tablet.table) ?? ""], ["Rows", `${tablet.start === "" ? "the first" : text(tablet.start)} to ${tablet.end === "" ? "the last" : text(tablet.end)}`],
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

function colour(load, most) {
  const share = load === 0 ? 0 : Math.round(12 + 88 * Math.log1p(load) / Math.log1p(most));
  return `color-mix(in oklab, var(--accent) ${share}%, var(--tile))`;
}

function tiles(tablets, rates, most, choose) {
  const list = h("div", { class: "tiles", role: "group", "aria-label": "Tablets by row" }, tablets.map((tablet, i) => {
    const load = rates.get(tablet.id) ?? 0;
    return h("button", { type: "button", "data-tablet": tablet.id, tabindex: i === 0 ? 0 : -1, "aria-pressed": String(String(tablet.id) === chosen),
      "aria-label": `tablet ${tablet.id}, shard ${tablet.shard}, ${rate(load)} requests a second, ${bytes(tablet.bytes)}`,
      title: `tablet ${tablet.id} · ${rate(load)} /s · ${bytes(tablet.bytes)}`, style: { backgroundColor: colour(load, most) }, onclick: () => choose(String(tablet.id)) });
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

// ---- the last hour: a line of the map is a tablet, a column a minute

const LINES = 40;  // the most loaded tablets of the hour

function map(heat, tablets, names, choose) {
  const head = h("h2", {}, "The last hour");
  if (heat.samples.length === 0) return h("section", { class: "sheet", id: "heat" }, head, h("p", { class: "empty" }, "The first minute is being measured."));
  const loads = new Map();
  heat.samples.forEach((sample, i) => {
    for (const one of sample.tablets) {
      if (!loads.has(one.id)) loads.set(one.id, new Array(heat.samples.length).fill(0));
      loads.get(one.id)[i] = one.per_second;
    }
  });
  const order = new Map(tablets.map((tablet, i) => [tablet.id, i]));
  const total = (line) => line.reduce((sum, load) => sum + load, 0);
  const lines = [...loads].sort((a, b) => total(b[1]) - total(a[1])).slice(0, LINES).sort((a, b) => (order.get(a[0]) ?? Infinity) - (order.get(b[0]) ?? Infinity));
  if (lines.length === 0) return h("section", { class: "sheet", id: "heat" }, head, h("p", { class: "empty" }, "No tablet was read or written."));
  const most = Math.max(1, ...lines.flatMap(([, line]) => line));
  const told = h("p", { class: "soft small", "aria-live": "polite" }, "Point at a minute, or choose a tablet.");
  const rows = lines.map(([id, line]) => {
    const tablet = tablets.find((one) => one.id === id);
    const name = tablet ? `${names.get(tablet.table) ?? "table"} · ${tablet.start === "" ? "first row" : text(tablet.start)}` : "moved or merged";
    const cells = line.map((load, i) => h("i", { style: { backgroundColor: colour(load, most) }, onpointerenter: () => { told.textContent = `${moment(Math.round(heat.samples[i].at_us / 1e6) * 1e6)}: tablet ${id}, ${rate(load)} requests a second.`; } }));
    return h("div", { class: "heat-line" }, h("button", { type: "button", class: "quiet", disabled: !tablet, "data-heat": id, title: name, "aria-label": `tablet ${id}, ${name}, at most ${rate(Math.max(...line))} requests a second`, onclick: () => choose(String(id)) }, h("span", { class: "mono" }, String(id)), ` ${name}`),
      h("div", { class: "heat-cells", role: "img", "aria-label": `at most ${rate(Math.max(...line))} requests a second` }, cells));
  });
  return h("section", { class: "sheet", id: "heat" }, h("div", { class: "table-head" }, head, h("span", { class: "soft small" }, `${count(heat.samples.length)} minutes, ${count(lines.length)} of the most loaded tablets, up to ${rate(most)} /s`)), rows, told);
}
