// What is dead and still on disk: which tables miss their deadline, and why each file is still there.
import { get } from "./api.js";
import { bytes, count, duration, grid, h, until } from "./format.js";

const dialog = document.getElementById("dialog");

// By table name; empty where the principal may not ask.
export async function standing() {
  const report = await get("reclaim", { limit: 1 }).catch((error) => {
    if (error.status === 403) return { tables: [] };
    throw error;
  });
  return new Map(report.tables.map((table) => [table.name, table]));
}

export function missedLine(standing, now) {
  const missed = [...standing.values()].filter((table) => table.missed_since_us !== null);
  if (missed.length === 0) return null;
  return h("p", { class: "problem", id: "missed" }, `The reclaim deadline is missed by ${missed.map((table) => `${table.name} (for ${duration(Math.max(now - table.missed_since_us, 0))})`).join(", ")}.`);
}

// Behind a table's figures; null while nothing of it is dead.
export function whyButton(table, standing) {
  const of = standing.get(table.name);
  if (!of || of.dead_bytes + of.held_bytes + of.pinned_bytes + of.unknown_bytes + of.damaged_sstables === 0) return null;
  return h("button", { type: "button", class: "quiet", id: `why-${table.id}`, "aria-label": `Why dead bytes of ${table.name} are still on disk`, onclick: () => explain(table) }, "Why still here?");
}

async function explain(table) {
  const body = h("div", { "aria-live": "polite" }, h("p", {}, "Asking…"));
  dialog.replaceChildren(h("form", { method: "dialog" },
    h("h1", { id: "dialog-title" }, `What is dead in ${table.name}, and why it is still there`), body,
    h("div", { class: "actions" }, h("button", { type: "submit" }, "Close"))));
  dialog.showModal();
  try {
    body.replaceChildren(...told(await get("reclaim", { table: table.name, limit: 100 })));
  } catch (error) {
    body.replaceChildren(h("p", { class: "problem" }, error.message));
  }
}

function told(report) {
  const lines = report.tables.map((of) => h("p", { class: of.missed_since_us === null ? "soft" : "problem" },
    of.missed_since_us === null ? "Its reclaim deadline is met." : `Its reclaim deadline is missed for ${duration(Math.max(report.now_us - of.missed_since_us, 0))}.`,
    ` Dead ${bytes(of.dead_bytes)}, overdue ${bytes(of.overdue_bytes)}, held by undo windows ${bytes(of.held_bytes)}, pinned ${bytes(of.pinned_bytes)}.`));
  if (report.files.length === 0) return [...lines, h("p", {}, "No file of it waits for anything.")];
  const rows = report.files.map((file) => h("tr", {}, h("td", { class: "mono" }, file.file), h("td", { class: "num" }, bytes(file.dead_bytes)), h("td", { class: "num" }, bytes(file.overdue_bytes)),
    h("td", {}, reasonWords(file, report.now_us))));
  lines.push(grid([["File"], ["Dead", "num"], ["Overdue", "num"], ["Why it is still there"]], rows, { id: "why" }));
  if (report.files_there > report.files.length) lines.push(h("p", { class: "soft" }, `And ${count(report.files_there - report.files.length)} more: cellar gc why tells of all.`));
  return lines;
}

// As `cellar gc why` says it, in short.
export function reasonWords(file, now) {
  const when = (us) => us === null ? "as things are never" : us <= now ? "now" : until(us, now);
  const since = () => file.since_us === null ? "" : ` ${until(file.since_us, now)}`;
  const turn = () => `begins ${when(file.until_us)}${file.done_us !== null && file.done_us > now ? `, done about ${until(file.done_us, now)}` : ""}`;
  const words = {
    none: () => "no reason is known",
    within_slack: () => `no more is overdue than dead_slack allows; more will be ${when(file.until_us)}`,
    margin: () => `wholly dead; leaves when the removal margin is over, ${when(file.until_us)}`,
    its_turn: () => file.since_us !== null ? `goes into the merge that began${since()}`
      : file.other ? `wholly dead, but masks what is older; leaves in a merge of all runs: ${turn()}`
      : file.count ? `versions are counted, so it leaves in a merge of all ${count(file.count)} runs: ${turn()}`
      : `waits for its turn: ${turn()}`,
    undo_window: () => `a change of the rule can still be undone; that ends ${when(file.until_us)}`,
    damaged: () => file.other ? `only a merge that reads ${file.other}, which is damaged, would take it away` : `damaged, and no merge reads it: ${file.error}`,
    failed: () => file.since_us === null ? `its shard accepts no writes: ${file.error}` : `the last attempt failed, the next is ${when(file.until_us)}: ${file.error}`,
    pinned_by_readers: () => `replaced${since()}, and still read`,
    pinned_by_backup: () => `replaced${since()}, and a backup copies it`,
    not_removed: () => `replaced${since()}, and the disk did not remove it: ${file.error}`,
    shared: () => `${count(file.count)} tablets need the rest of it`,
    unknown: () => "without statistics about expiry; a merge adds them",
  };
  return (words[file.reason] ?? (() => file.reason))();
}
