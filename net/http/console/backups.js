// Backups: the schedule, the job, and the backups in the scheduled directory.
import { get, post } from "./api.js";
import { bytes, count, duration, grid, h, moment, put, until } from "./format.js";

const LIST_MS = 30000;  // the directory may be on a slow mount

export function backups() {
  let listed = { at: 0, backups: [], problem: "" };
  let said = "";
  return {
    load: async () => {
      const list = Date.now() - listed.at > LIST_MS;
      const told = await get("backups", list ? { list: "1" } : {});
      if (list) listed = { at: Date.now(), backups: told.backups, problem: told.problem };
      return told;
    },
    show(told, root, node) {
      const now = node?.now_us ?? Date.now() * 1000;
      const focused = document.activeElement?.id;
      const take = h("button", { type: "button", id: "take", disabled: told.into === "" || told.job?.running, onclick: async () => {
        said = await post("backups/take", {}).then(() => "The backup has begun.", (error) => error.message);
        listed.at = 0;
        document.dispatchEvent(new Event("cellar:changed"));
      } }, "Take one now");
      put(root, h("h1", {}, "Backups"),
        h("dl", { class: "sheet figures" }, [["Newest", told.newest_us === null ? h("span", { class: "soft" }, "none is known") : until(told.newest_us, now)],
          ["Schedule", told.every_us === 0 ? h("span", { class: "soft" }, "none") : `every ${duration(told.every_us)}`], ["Taken since the start", count(told.taken)], ["Failed", count(told.failed)]]
          .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
        h("section", { class: "sheet" }, h("h2", {}, "The job"), job(told.job), h("div", { class: "actions" }, take), said ? h("p", { class: "soft", role: "status" }, said) : null),
        h("section", { class: "sheet" }, h("h2", {}, told.into === "" ? "Scheduled backups" : told.into), kept(told, listed, now)));
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    },
  };
}

function job(of) {
  if (of === null) return h("p", { class: "empty" }, "None since the start.");
  const words = `${of.kind} ${of.name} in ${of.directory}`;
  if (of.running) return [h("p", {}, `${words}: ${of.phase}`), h("progress", { max: Math.max(of.bytes_total, 1), value: of.bytes_done, "aria-label": "bytes done" }), h("p", { class: "soft small" }, `${bytes(of.bytes_done)} of ${bytes(of.bytes_total)}`)];
  return h("p", { class: of.error === null ? "" : "problem" }, of.error === null ? `${words}: done.` : `${words} failed: ${of.error}`);
}

function kept(told, listed, now) {
  if (told.into === "") return h("p", { class: "empty" }, told.directories === "" ? "Backups are disabled: the setting backup.directories is empty." : "The setting backup.into is empty: nothing is scheduled. cellar backup ls DIRECTORY lists others.");
  if (listed.problem !== "") return h("p", { class: "problem" }, listed.problem);
  if (listed.backups.length === 0) return h("p", { class: "empty" }, "It has no backup yet.");
  return [h("p", { class: "soft small" }, `The newest ${count(told.keep)} are kept${told.keep_for_us ? `, none older than ${duration(told.keep_for_us)}` : ""}.`),
    grid([["Name"], ["Taken"], ["Tables", "num"], ["Bytes", "num"], ["Copied for it", "num"], ["Program"]], [...listed.backups].sort((a, b) => b.taken_us - a.taken_us).map((one) => h("tr", {},
      h("td", { class: "mono break" }, one.name), h("td", { class: "nowrap", title: moment(one.taken_us) }, until(one.taken_us, now)), h("td", { class: "num" }, count(one.tables)),
      h("td", { class: "num" }, bytes(one.bytes)), h("td", { class: "num" }, bytes(one.copied_bytes)), h("td", { class: "soft" }, one.program))))];
}
