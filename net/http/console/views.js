// The views that only show.
import { get } from "./api.js";
import { count, duration, grid, h, moment, put, until } from "./format.js";
import { ruleText } from "./rules.js";

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
  alter_family: "family changed", drop_family: "family dropped", undo_rule: "rule change undone",
  create_index: "index created", alter_index: "index changed", drop_index: "index dropped" };

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
