// The nodes of http.nodes: which one the console shows, and all of them beside each other.
import { chosenNode, getFrom, useNode } from "./api.js";
import { bytes, count, duration, grid, h, put, rate } from "./format.js";

export function nodesOf(text) { return [...new Set(text.split(" ").filter((word) => word !== "").concat(location.origin))].sort(); }

// A list to choose from, where there is more than this node.
export function nodeChoice(node) {
  const names = nodesOf(node.nodes);
  if (names.length < 2) return null;
  return h("label", { class: "node-choice" }, h("select", { id: "node-choice", "aria-label": "Node", onchange: (event) => { useNode(event.target.value); dispatchEvent(new Event("hashchange")); } },
    names.map((name) => h("option", { value: name, selected: name === (chosenNode() || location.origin) }, name.replace(/^https?:\/\//, "")))));
}

export function nodes() {
  return {
    load: async () => {
      const own = await getFrom(location.origin, "node");
      return Promise.all(nodesOf(own.nodes).map(async (name) => {
        try {
          const [node, history, tables] = await Promise.all([getFrom(name, "node"), getFrom(name, "history"), getFrom(name, "tables")]);
          return { name, node, last: history.points.at(-1), tables: tables.tables };
        } catch (error) {
          return { name, problem: error.message };
        }
      }));
    },
    show(all, root) {
      put(root, h("h1", {}, "Nodes"), h("section", { class: "sheet" }, grid([["Node"], ["State"], ["Version"], ["Up", "num"], ["Reads /s", "num"], ["Writes /s", "num"], ["p99 of reads", "num"], ["Tables", "num"], ["Data", "num"], ["Overdue", "num"], ["Free disk", "num"]], all.map(row))),
        all.length > 1 ? null : h("p", { class: "soft" }, "The setting http.nodes is empty: it names the consoles of the other nodes, on each of them, as in http.nodes = \"http://127.0.0.1:7421 http://127.0.0.1:7431\"."));
    },
  };
}

function row({ name, node, last, tables, problem }) {
  const show = h("button", { type: "button", class: "quiet", "data-node": name, onclick: () => { useNode(name); location.hash = "#overview"; } }, name.replace(/^https?:\/\//, ""));
  if (problem) return h("tr", {}, h("td", {}, show), h("td", { class: "problem", colspan: 10 }, problem));
  const sum = (field) => tables.reduce((total, table) => total + table.figures[field], 0);
  return h("tr", {}, h("td", {}, show), h("td", {}, h("span", { class: "pill", "data-state": node.state, title: node.reason }, node.state)), h("td", {}, node.version), h("td", { class: "num" }, duration(node.uptime_us)),
    h("td", { class: "num" }, last ? rate(last.reads.per_second) : "–"), h("td", { class: "num" }, last ? rate(last.writes.per_second) : "–"), h("td", { class: "num" }, last?.reads.per_second ? duration(last.reads.p99_us) : "–"),
    h("td", { class: "num" }, count(tables.length)), h("td", { class: "num" }, bytes(sum("live_bytes") + sum("dead_bytes"))), h("td", { class: "num" }, bytes(sum("overdue_bytes"))), h("td", { class: "num" }, node.disk_free_bytes === null ? "–" : bytes(node.disk_free_bytes)));
}
