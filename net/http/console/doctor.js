// The doctor: what an operator should know or do, from the figures of the node. `cellar doctor` also looks at the directory and the machine.
import { get } from "./api.js";
import { bytes, count, duration, h, moment, put, until } from "./format.js";

const DAY = 8.64e10;
const CERTIFICATE_SOON = 21 * DAY, OLD_BACKUP = 7 * DAY, LONG_RECOVERY = 6e7, LONG_STALL = 1e6;

export function doctor() {
  return {
    load: () => Promise.all([get("node"), get("shards"), get("tables"), get("reclaim", { limit: 1 }), get("backups"), get("history", { range: "day" })]),
    show(figures, root) {
      const all = findings(...figures);
      const of = (level) => all.filter((one) => one.level === level);
      const problems = of("problem").length, warnings = of("warning").length;
      put(root, h("h1", {}, "Doctor"),
        h("p", { class: problems ? "problem" : "soft", role: "status" }, problems + warnings === 0 ? "Nothing to do." : `${count(problems)} problem${problems === 1 ? "" : "s"}, ${count(warnings)} warning${warnings === 1 ? "" : "s"}.`),
        h("section", { class: "sheet" }, h("ul", { class: "findings" }, [...of("problem"), ...of("warning"), ...of("good")].map((one) => h("li", { "data-level": one.level },
          h("b", {}, `${one.level === "good" ? "✓" : one.level === "warning" ? "!" : "✗"} ${one.check}`), h("span", {}, one.what), one.advice ? h("span", { class: "soft small" }, one.advice) : null)))),
        h("p", { class: "soft small" }, "cellar doctor --data-dir DIRECTORY also looks at the directory, the memory and the limits of the machine."));
    },
  };
}

export function findings(node, shards, tables, reclaim, backups, history) {
  const all = [];
  const add = (level, check, what, advice = "") => all.push({ level, check, what, advice });
  add(node.state === "ready" ? "good" : node.state === "draining" ? "warning" : "problem", "node", node.state === "ready" ? `ready, version ${node.version}, up ${duration(node.uptime_us)}` : `${node.state}: ${node.reason}`);
  const stopped = shards.shards.filter((shard) => shard.read_only).length;
  if (stopped > 0) add("problem", "writes", `${stopped} of ${shards.shards.length} shards take no writes`, "See the log for the first error, mend the disk or make room, start the node again.");
  else add("good", "writes", "every shard takes writes");
  clock(node.clock, add);
  disk(node, history, add);
  if (node.certificate_expires_us !== null) {
    const left = node.certificate_expires_us - node.now_us;
    add(left <= 0 ? "problem" : left < CERTIFICATE_SOON ? "warning" : "good", "tls", `the certificate ${left <= 0 ? "expired" : "expires"} ${until(node.certificate_expires_us, node.now_us)}, on ${moment(node.certificate_expires_us)}`,
      left < CERTIFICATE_SOON ? "Put the new certificate and key in the place of the old: the node takes them within a second." : "");
  }
  if (backups.newest_us === null) add("warning", "backups", "none is known", "Set backup.directories, backup.into and backup.every.");
  else add(node.now_us - backups.newest_us > Math.max(OLD_BACKUP, 2 * backups.every_us) ? "warning" : "good", "backups", `the newest was taken ${until(backups.newest_us, node.now_us)}`);
  if (backups.failed > 0) add("warning", "backups", `${count(backups.failed)} failed since the start`, "The view Backups and the log tell why.");
  retention(tables, reclaim, add);
  if (node.io_backend !== "io_uring") add("warning", "io", `threads instead of io_uring: ${node.io_reason}`, "Permit the three io_uring calls, if reads wait for the disk.");
  else add("good", "io", "io_uring");
  if (node.recovery.elapsed_us > LONG_RECOVERY) add("warning", "start", `the last start replayed ${bytes(node.recovery.replayed_bytes)} in ${duration(node.recovery.elapsed_us)}`, "Stop nodes with SIGTERM, which flushes.");
  const stall = Math.max(...shards.shards.map((shard) => shard.longest_stall_us));
  if (stall > LONG_STALL) add("warning", "stalls", `a shard's loop stood for ${duration(stall)} since the start`, "The machine was overloaded, or swaps: look at its processors and memory.");
  return all;
}

function clock(of, add) {
  if (of.stands) add("problem", "clock", `the node was started read-only: what it answers is as of ${moment(of.trusted_us)}`, "Make room on the disk, start the node again.");
  else if (of.lag_us > 0) add("problem", "clock", `trusted time lags ${duration(of.lag_us)} behind`, "See the log for the first error of the clock; past 10 s of lag reads are refused.");
  else if (of.held_us > 0) add("warning", "clock", `${duration(of.held_us)} are held: what would die by them lives on`, "If the wall clock is right, cellar clock confirm shows what would die, and releases it.");
  else if (!of.synchronised) add("warning", "clock", "the kernel does not say that its clock is synchronised", "Run chrony or systemd-timesyncd: after a boot, time is held until it is.");
  else add("good", "clock", "synchronised, nothing is held");
}

// What was used up in the history, a week ahead.
function disk(node, history, add) {
  if (node.disk_free_bytes === null) return;
  const free = node.disk_free_bytes, points = history.points.filter((point) => point.disk_free_bytes > 0);
  const gone = points.length > 30 ? points[0].disk_free_bytes - points.at(-1).disk_free_bytes : 0;
  const left = gone > 0 ? free / gone * (points.at(-1).at_us - points[0].at_us) : Infinity;
  const what = `${bytes(free)} are free${left < 60 * DAY ? `, used up in about ${duration(left)} as things are` : ""}`;
  if (free <= node.disk_reserve_bytes) add("problem", "disk", `${what}: less than the reserve of ${bytes(node.disk_reserve_bytes)}`, "Make room or add disk now: writes are refused.");
  else if (left < 7 * DAY || free < 4 * node.disk_reserve_bytes) add("warning", "disk", what, "Plan more disk, or tighter rules (a preview says what they would free).");
  else add("good", "disk", what);
}

function retention(tables, reclaim, add) {
  const missed = reclaim.tables.filter((table) => table.missed_since_us !== null);
  if (missed.length > 0) add("problem", "reclaim", `the reclaim deadline is missed by ${missed.map((table) => table.name).join(", ")}`, "The view Tables says why each file is still there.");
  else add("good", "reclaim", "every table meets its deadline");
  const damaged = tables.tables.filter((table) => table.figures.damaged_sstables > 0);
  for (const table of damaged) add("problem", "damage", `table ${table.name} has ${count(table.figures.damaged_sstables)} damaged files`, "Restore it from a backup; the log names the files.");
}
