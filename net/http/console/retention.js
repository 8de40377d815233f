// Retention over time: what dies in the next hours and days, and what died and left the disk.
import { get } from "./api.js";
import { chart, roundAbove } from "./charts.js";
import { bytes, count, duration, grid, h, moment, put, s } from "./format.js";
import { missedLine, standing } from "./reclaim.js";

const HOUR = 3.6e9;
const COLUMNS = [["hour", HOUR], ["day", 24 * HOUR], ["week", 168 * HOUR]];

// Kept from one visit of the view to the next.
const shown = { order: "week", unit: "bytes" };

export function retention() {
  return {
    load: () => Promise.all([get("tables"), standing(), get("history", { range: "day" }).catch((error) => {
      if (error.status === 403) return null;
      throw error;
    })]),
    show([all, reclaim, history], root) {
      const focused = document.activeElement?.id;
      put(root, h("div", { class: "table-head" }, h("h1", {}, "Retention"), units()),
        missedLine(reclaim, all.now_us),
        all.tables.length === 0 ? h("p", { class: "empty" }, "There are no tables yet.") : future(all.tables),
        history === null ? null : past(history));
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    },
  };
}

function units() {
  return h("div", { class: "choice", role: "group", "aria-label": "What is counted" }, ["bytes", "cells"].map((name) =>
    h("button", { type: "button", class: "quiet", id: `count-${name}`, "aria-pressed": String(name === shown.unit),
      onclick: () => { shown.unit = name; document.dispatchEvent(new Event("cellar:changed")); } }, name)));
}

function told(n) { return shown.unit === "bytes" ? bytes(n) : count(n); }
function within(table, us) { return table.figures.dying.find((one) => one.within_us === us)?.[shown.unit] ?? 0; }

function future(tables) {
  const horizons = tables[0].figures.dying.map((one) => one.within_us);
  const sum = (us) => tables.reduce((total, table) => total + within(table, us), 0);
  const points = [{ us: 0, dies: 0 }, ...horizons.map((us) => ({ us, dies: sum(us) }))];
  const by = COLUMNS.find(([name]) => name === shown.order)[1];
  const sorted = [...tables].sort((a, b) => within(b, by) - within(a, by) || (a.name < b.name ? -1 : 1));
  const most = Math.max(1, ...sorted.map((table) => within(table, 168 * HOUR)));
  const rows = sorted.map((table) => h("tr", {}, h("td", { class: "break" }, h("a", { href: "#tables" }, table.name)),
    ...COLUMNS.map(([, us]) => h("td", { class: "num" }, told(within(table, us)))),
    h("td", {}, strip(table, horizons, most)), h("td", { class: "num" }, told(shown.unit === "bytes" ? table.figures.left_bytes : table.figures.left_cells))));
  const heading = ([name]) => h("button", { type: "button", class: "quiet sort", id: `by-${name}`, "aria-pressed": String(name === shown.order),
    onclick: () => { shown.order = name; document.dispatchEvent(new Event("cellar:changed")); } }, `Next ${name}`);
  return h("section", { class: "sheet", id: "dying" }, h("h2", {}, "What dies"),
    h("p", { class: "soft small" }, `About, by age, own expiry and the end of undo windows; later writes are not foreseen. In all tables ${COLUMNS.map(([name, us]) => `${told(sum(us))} in the next ${name}`).join(", ")}.`),
    points.at(-1).dies === 0 ? h("p", { class: "empty" }, "Nothing of the present data dies by itself within a week.") : curve(points),
    grid([["Table"], ...COLUMNS.map((column) => [heading(column), "num"]), ["Over seven days"], ["Left the disk", "num"]], rows),
    h("p", { class: "soft small" }, "Left the disk: dropped by merges and removals since the tablets were opened."));
}

// Deaths from one horizon to the next, as bars whose height is the rate.
function strip(table, horizons, most) {
  let before = 0, from = 0;
  const days = horizons.at(-1);
  const bars = horizons.map((us) => {
    const dies = within(table, us);
    const part = { x: from / days * 140, width: Math.max((us - from) / days * 140 - 0.6, 0.6), tall: Math.sqrt(Math.max(dies - before, 0) / most) * 22 };
    before = dies;
    from = us;
    return part;
  });
  return s("svg", { class: "strip", viewBox: "0 0 140 24", width: 140, height: 24, role: "img", "aria-label": COLUMNS.map(([name, us]) => `${told(within(table, us))} within a ${name}`).join(", ") },
    s("line", { class: "grid", x1: 0, x2: 140, y1: 23.5, y2: 23.5 }), bars.map((bar) => s("rect", { x: bar.x, y: 23 - bar.tall, width: bar.width, height: bar.tall })));
}

function curve(points) {
  const wide = Math.max(300, document.getElementById("content").clientWidth - 96), high = 120, left = 64, bottom = 20, week = points.at(-1).us;
  const most = roundAbove(points.map((point) => point.dies));
  const x = (us) => left + (wide - left - 8) * us / week;
  const y = (n) => 8 + (high - 8 - bottom) * (1 - n / most);
  const line = points.map((point, i) => `${i === 0 ? "M" : "L"}${x(point.us).toFixed(1)} ${y(point.dies).toFixed(1)}`).join("");
  return s("svg", { class: "chart forecast", viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: "none", role: "img", "aria-label": `What has died of the present data by then: ${points.slice(1).map((point) => `${duration(point.us)} ${told(point.dies)}`).join(", ")}` },
    [0, most / 2, most].flatMap((n) => [s("line", { class: "grid", x1: left, x2: wide - 8, y1: y(n), y2: y(n) }), s("text", { x: left - 6, y: y(n) + 4, "text-anchor": "end" }, told(n))]),
    s("path", { class: "area", d: `${line}L${x(week)} ${y(0)}L${x(0)} ${y(0)}Z` }), s("path", { class: "dead", d: line }),
    [0, 1, 2, 3, 4, 5, 6, 7].map((day) => s("text", { x: x(day * 24 * HOUR), y: high - 4, "text-anchor": day === 0 ? "start" : day === 7 ? "end" : "middle" }, day === 0 ? "now" : `${day} d`)));
}

function past(history) {
  const points = history.points;
  const span = points.length * history.interval_us;
  const field = shown.unit === "bytes" ? "left_bytes" : "left_cells";
  const total = points.reduce((sum, point) => sum + point[field], 0);
  const common = { points, ago: `${duration(span)} ago`, when: (point) => moment(Math.round(point.at_us / 1e6) * 1e6), empty: "The first figures come within two minutes." };
  return h("section", { id: "left" }, h("h2", {}, "What died and left the disk"),
    h("p", { class: "soft" }, points.length === 0 ? "" : `${told(total)} in the last ${duration(span)}.`),
    h("div", { class: "two" },
      chart({ ...common, title: "Left the disk, a minute", most: roundAbove(points.map((point) => point[field])), format: told, lines: [{ name: "dropped", cls: "dead", value: (point) => point[field] * 6e7 / point.span_us }] }),
      chart({ ...common, title: "Dead data on disk", most: roundAbove(points.map((point) => point.dead_bytes)), format: bytes,
        lines: [{ name: "dead", cls: "dead", value: (point) => point.dead_bytes }, { name: "of it overdue", cls: "overdue", value: (point) => point.overdue_bytes }] })));
}
