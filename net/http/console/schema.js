// The dialogs that change the schema: a table is created, altered, dropped, restored; families come and go.
import { get, post } from "./api.js";
import { bytes, duration, grid, h, moment } from "./format.js";
import { age, parseAge, parseRule, ruleWords } from "./rules.js";

const dialog = document.getElementById("dialog");
const MEANINGS = [["time", "times of writing"], ["expiry", "times of expiry"], ["sequence", "sequence numbers"]];

// `send` returns a promise; its failure is shown and the dialog stays.
function open(title, action, parts, send, danger = false) {
  const result = h("div", { "aria-live": "polite" });
  const act = h("button", { type: "submit", class: danger ? "danger" : "" }, action);
  const form = h("form", { method: "dialog", onsubmit: async (event) => {
    event.preventDefault();
    act.disabled = true;
    try {
      await send();
      dialog.close();
      document.dispatchEvent(new Event("cellar:changed"));
    } catch (error) {
      result.replaceChildren(h("div", { class: "result error" }, h("p", { class: "problem" }, error.message)));
    } finally {
      act.disabled = false;
    }
  } }, h("h1", { id: "dialog-title" }, title), parts, result,
  h("div", { class: "actions" }, h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel"), act));
  dialog.replaceChildren(form);
  dialog.showModal();
  form.querySelector("input, select")?.focus();
  return act;
}

function field(label, attributes) {
  const input = h("input", { type: "text", spellcheck: "false", autocomplete: "off", ...attributes });
  return [h("label", {}, label, input), input];
}

function familyParts() {
  const [nameLabel, name] = field("Family", { id: "family-name", required: true });
  const [ruleLabel, rule] = field("Rule", { id: "family-rule", value: "never", "aria-describedby": "family-words" });
  const words = h("p", { class: "hint", id: "family-words", "aria-live": "polite" });
  const meaning = h("select", { id: "family-meaning" }, MEANINGS.map(([value, text]) => h("option", { value }, text)));
  const judge = () => {
    try { words.textContent = ruleWords(parseRule(rule.value)); words.classList.remove("problem"); } catch (error) { words.textContent = error.message; words.classList.add("problem"); }
  };
  rule.addEventListener("input", judge);
  judge();
  return { parts: [nameLabel, ruleLabel, words, h("label", {}, "Timestamps are", meaning)], family: () => ({ name: name.value.trim(), rule: parseRule(rule.value), timestamps: meaning.value }) };
}

export function createTable() {
  const [label, name] = field("Name", { id: "table-name", required: true });
  const of = familyParts();
  open("New table", "Create", [label, ...of.parts, h("p", { class: "hint" }, "More families can be added later.")], () => post("tables/create", { table: name.value.trim(), families: [of.family()] }));
}

export function addFamily(table) {
  const of = familyParts();
  open(`New family of ${table.name}`, "Add", of.parts, () => post("families/add", { table: table.name, families: [of.family()], expected_version: table.version }));
}

// Only what was edited is sent: what is shown may have been changed by others.
export function alterReclaim(table) {
  const [label, within] = field("Dead bytes leave within", { id: "reclaim-within", value: age(table.reclaim_within_us), required: true });
  const [slackLabel, slack] = field("Dead slack, a share of the live bytes", { id: "dead-slack", type: "number", min: 0, max: 1, step: "any", value: table.dead_slack, required: true });
  const agreed = h("input", { type: "checkbox", id: "no-slack" });
  const words = h("span", {});
  const cost = h("label", { class: "check", hidden: true }, agreed, words);
  const judge = () => {
    const none = slack.value !== "" && Number(slack.value) === 0 && table.dead_slack !== 0;
    cost.hidden = !none;
    agreed.required = none;
    if (none) words.textContent = `Without slack every file with a dead cell is written again in that time: up to ${bytes(table.figures.live_bytes + table.figures.dead_bytes)}, within the share of the disk that reclaiming may use.`;
  };
  slack.addEventListener("input", judge);
  const edited = () => ({
    ...(within.value === age(table.reclaim_within_us) ? {} : { reclaim_within_us: parseAge(within.value) }),
    ...(Number(slack.value) === table.dead_slack ? {} : { dead_slack: Number(slack.value) }),
  });
  open(`Reclaiming of ${table.name}`, "Change", [label, slackLabel, cost, h("p", { class: "hint" }, "A shorter deadline and less slack cost more merging.")],
    () => post("tables/reclaim", { table: table.name, ...edited(), expected_version: table.version }));
}

// The name is typed, so that nothing is dropped by a click.
function confirmed(title, name, warning, send) {
  const [label, typed] = field(`Type ${name} to confirm`, { id: "confirm" });
  const act = open(title, "Drop", [h("p", {}, warning), label], send, true);
  act.disabled = true;
  typed.addEventListener("input", () => { act.disabled = typed.value !== name; });
}

export function dropTable(table) {
  const window = Math.max(0, ...table.families.map((family) => family.undo_window_us));
  confirmed(`Drop table ${table.name}?`, table.name, `Its ${bytes(table.figures.live_bytes + table.figures.dead_bytes)} are gone from all answers at once. ${window > 0 ? `It can be restored for ${duration(window)}.` : "It cannot be restored: no family has an undo window."}`,
    () => post("tables/drop", { table: table.name }));
}

export function dropFamily(table, family) {
  confirmed(`Drop family ${family.name} of ${table.name}?`, family.name, "Its cells are dead at once, and cannot be had back.", () => post("families/drop", { table: table.name, family: family.name, expected_version: table.version }));
}

export async function restoreTables(now) {
  const told = await get("tables/dropped");
  // A name is restored as it was dropped last.
  const newest = (one) => told.tables.every((other) => other.name !== one.name || other.dropped_us <= one.dropped_us);
  const result = h("div", { "aria-live": "polite" });
  const restore = async (name) => {
    try {
      await post("tables/restore", { table: name });
      dialog.close();
      document.dispatchEvent(new Event("cellar:changed"));
    } catch (error) {
      result.replaceChildren(h("div", { class: "result error" }, h("p", { class: "problem" }, error.message)));
    }
  };
  dialog.replaceChildren(h("form", { method: "dialog" }, h("h1", { id: "dialog-title" }, "Dropped tables"),
    told.tables.length === 0 ? h("p", { class: "empty" }, "None can be restored.") : grid([["Table"], ["Dropped"], ["Bytes", "num"], ["Restorable for", "num"], [""]], told.tables.map((one) => h("tr", {},
      h("td", { class: "break" }, one.name), h("td", { class: "nowrap" }, moment(one.dropped_us)), h("td", { class: "num" }, bytes(one.bytes)), h("td", { class: "num" }, duration(Math.max(one.restorable_until_us - now, 0))),
      h("td", {}, newest(one) ? h("button", { type: "button", class: "quiet", "data-restore": one.name, onclick: () => restore(one.name) }, "Restore") : h("span", { class: "soft small" }, "restore the later one, drop it again"))))),
    result, h("div", { class: "actions" }, h("button", { type: "submit", class: "quiet" }, "Close"))));
  dialog.showModal();
}
