// The indexes of a table: what they find, how far they are, what they take on disk.
import { bytes, count, duration, grid, h, text } from "./format.js";
import { killsAtAge } from "./rules.js";

export const CREATE = "cellar index create TABLE NAME on=FAMILY:QUALIFIER order=value";

export function place(index) { return index.qualifier === null ? `${index.family}, all columns` : `${index.family}:${text(index.qualifier)}`; }

// "value as a 64-bit number, then time".
export function orderWords(index) {
  return index.order.map((part) => part === "value" && index.type === "int64" ? "value as a 64-bit number" : part === "time" ? "time, newest first" : part).join(", then ");
}

export function queryAddress(table, index) { return `#indexes?${new URLSearchParams({ table: table.name, index: index.name })}`; }

// What the own age does while the family has its rule.
export function ageWords(index, table) {
  const rule = table.families.find((family) => family.name === index.family)?.rule ?? null;
  const kills = killsAtAge(rule);
  const own = index.max_age_us;
  if (own === null) return ["none", kills === null ? "Finds cells for as long as they live." : `Finds cells until the rule kills them at ${duration(kills)}.`];
  const answer = index.tighter_base === "refuse" ? "A rule that kills earlier is refused." : "A rule that kills earlier is accepted.";
  if (kills === null) return [duration(own), `Older cells live on and are not found. ${answer}`];
  if (kills < own) return [duration(own), `Without effect: the rule kills at ${duration(kills)}. It counts again when the rule is looser.`];
  if (kills === own) return [duration(own), `The rule kills at that age too. ${answer}`];
  return [duration(own), `Older cells are not found, and live until the rule kills them at ${duration(kills)}. ${answer}`];
}

export function stateCell(index) {
  const state = index.state;
  if (state === null) return h("span", { class: "soft" }, "not known yet");
  if (state.ready) return h("span", { class: "pill", "data-state": "ready" }, "ready");
  const percent = Math.floor(state.done * 100);
  return h("div", {}, h("progress", { max: 1, value: state.done, "aria-label": `${index.name}: ${percent} % entered` }), h("div", { class: "small soft nowrap" }, `${percent} % entered`));
}

export function indexSection(table) {
  if (table.indexes.length === 0) {
    return h("p", { class: "small soft indexes", "data-indexes": table.name }, "It has no indexes. Make one with ", h("code", {}, CREATE.replace("TABLE", () => table.name)));
  }
  const number = (index, name, words = count) => h("td", { class: "num" }, index.state === null ? "–" : words(index.state[name]));
  return h("div", { class: "indexes", "data-indexes": table.name }, h("h3", {}, "Indexes"),
    grid([["Index"], ["Finds"], ["Own age"], ["State"], ["Entries", "num"], ["On disk", "num"], ["Skipped", "num"], ["", "num"]], table.indexes.map((index) => {
      const [age, does] = ageWords(index, table);
      return h("tr", {}, h("td", { class: "break" }, index.name),
        h("td", { class: "what" }, h("span", { class: "mono break" }, place(index)), h("div", { class: "small soft" }, `by ${orderWords(index)}; ${index.match === "any" ? "any version" : "newest version"}`),
          index.covered.length === 0 ? null : h("div", { class: "small soft break" }, "covers ", h("span", { class: "mono" }, index.covered.map(text).join(", ")))),
        h("td", { class: "what" }, age, h("div", { class: "small soft" }, does)), h("td", {}, stateCell(index)), number(index, "entries"), number(index, "bytes", bytes),
        index.type === "int64" ? number(index, "skipped") : h("td", { class: "num soft" }, "–"),
        h("td", { class: "num" }, h("a", { href: queryAddress(table, index), "aria-label": `Query index ${index.name} of ${table.name}` }, "Query")));
    })));
}
