// The console: one view at a time, by the hash of the address, asked for anew every two seconds.
import { get, useToken } from "./api.js";
import { duration, h, put } from "./format.js";
import { backups } from "./backups.js";
import { cells } from "./cells.js";
import { doctor } from "./doctor.js";
import { indexQuery } from "./index_query.js";
import { compactions } from "./merges.js";
import { nodeChoice, nodes } from "./nodes.js";
import { overview } from "./overview.js";
import { retention } from "./retention.js";
import { tables } from "./tables.js";
import { tablets } from "./tablets.js";
import { useThemeButton } from "./theme.js";
import { audit, settings, slow } from "./views.js";

const EVERY_MS = 2000;
const VIEWS = { overview, retention, tables, tablets, compactions, slow, cells, indexes: indexQuery, backups, audit, doctor, nodes, settings };
const content = document.getElementById("content");
const banner = document.getElementById("banner");
let current = null;
let paused = false;
let timer = 0;
let heardAt = Date.now();

function viewName() {
  const name = location.hash.slice(1).split("?")[0];
  return name in VIEWS ? name : "overview";
}

function showTab(name) {
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.hash === `#${name}`) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else {
      link.removeAttribute("aria-current");
    }
  }
}

function showNode(node) {
  document.title = `${node.address} · Cellar`;
  put(document.getElementById("node"),
    h("span", { class: "pill", "data-state": node.state, title: node.reason }, node.state),
    nodeChoice(node) ?? h("span", { class: "mono" }, node.address),
    h("span", {}, `version ${node.version}`),
    h("span", {}, `up ${duration(node.uptime_us)}`),
    node.clock.held_us > 0 ? h("span", { class: "pill", "data-state": "draining" }, `clock held by ${duration(node.clock.held_us)}`) : null,
    node.clock.lag_us > 0 && !node.clock.stands ? h("span", { class: "pill", "data-state": "draining" }, `clock lags ${duration(node.clock.lag_us)}`) : null);
  banner.hidden = node.state === "ready";
  if (node.state !== "ready") banner.textContent = `The node is ${node.state}: ${node.reason}.`;
}

function showLost(error) {
  banner.hidden = false;
  const since = Math.round((Date.now() - heardAt) / 1000);
  banner.textContent = `${error.message} ${since > 3 ? `What is shown is ${since} s old.` : ""}`;
  const pill = document.querySelector("#node .pill");
  if (pill) { pill.dataset.state = "lost"; pill.textContent = "no answer"; }
}

// A principal without the role for the node's figures has those views that do not show them.
function unlessForbidden(error) {
  if (error.status === 403) return null;
  throw error;
}

// A view is {load(): figures, show(figures, root)}; `root` is its own until another view comes.
async function refresh() {
  clearTimeout(timer);
  const view = current;
  try {
    const [node, figures] = await Promise.all([get("node").catch(unlessForbidden), view.load()]);
    if (view !== current) return;
    heardAt = Date.now();
    if (node) showNode(node);
    view.show(figures, content, node);
    document.body.dataset.loaded = viewName();
  } catch (error) {
    if (view !== current) return;
    if (error.status === 401) return askForToken(error);
    showLost(error);
  }
  if (view === current) schedule();
}

function askForToken(error) {
  const field = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  put(content, h("h1", {}, "Sign in"), h("form", { class: "line", onsubmit: (event) => {
    event.preventDefault();
    useToken(field.value, error.origin);
    enter();
  } }, h("label", {}, error.origin ? `Token of a principal of ${error.origin}` : "Token of a principal", field), h("button", { type: "submit" }, "Sign in")),
  h("p", { class: "soft" }, error.message));
  field.focus();
  document.body.dataset.loaded = "sign-in";
}

function schedule() {
  clearTimeout(timer);
  if (!paused && !document.hidden) timer = setTimeout(refresh, EVERY_MS);
}

function enter() {
  const name = viewName();
  delete document.body.dataset.loaded;
  document.getElementById("dialog").close();
  showTab(name);
  current = VIEWS[name]();
  content.replaceChildren(h("p", { class: "empty" }, "Asking the node…"));
  refresh();
}

document.getElementById("pause").addEventListener("click", (event) => {
  paused = !paused;
  event.target.setAttribute("aria-pressed", String(paused));
  event.target.textContent = paused ? "Resume" : "Pause";
  if (paused) clearTimeout(timer); else refresh();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && !paused) refresh(); });
document.addEventListener("cellar:changed", refresh);
useThemeButton(document.getElementById("theme"));
addEventListener("hashchange", () => { enter(); content.focus({ preventScroll: true }); });
enter();
