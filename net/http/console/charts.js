// Lines over time, with the values under the pointer or the arrow keys.
import { h, s } from "./format.js";

// A redraw keeps what the pointer shows: the chart's title, and the point counted from the newest.
let shown = { title: "", back: 0 };

// One scale for charts that are compared: the least round number above all values.
export function roundAbove(values) {
  const most = Math.max(...values.filter((value) => value !== null), 0);
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * power).find((bound) => bound >= most);
}

const WIDE = 560, HEIGHT = 170, LEFT = 64, RIGHT = 8, TOP = 8, BOTTOM = 20;

function width() {
  const room = document.getElementById("content").clientWidth - 60;
  return Math.max(260, room > 840 ? Math.min(WIDE, room / 2 - 30) : room);
}

// lines: [{name, cls, value: (point) => number or null}]; format: of a value; log: a scale of powers of ten from 10 on.
export function chart({ title, lines, points, most, format, log = false, empty, ago, when }) {
  const seen = points.some((point) => lines.some((line) => line.value(point) !== null));
  if (!seen) return h("section", { class: "sheet" }, h("h2", {}, title), h("p", { class: "empty" }, empty));
  const wide = width();
  const inner = HEIGHT - TOP - BOTTOM;
  const share = (value) => log ? Math.log10(Math.max(value, 10) / 10) / Math.log10(Math.max(most, 100) / 10) : value / most;
  const y = (value) => TOP + inner * (1 - Math.min(1, share(value)));
  const x = (i) => LEFT + (wide - LEFT - RIGHT) * (points.length === 1 ? 1 : i / (points.length - 1));
  const ticks = log ? powers(most) : [0, most / 2, most];
  const drawing = s("svg", { class: "chart", viewBox: `0 0 ${wide} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", tabindex: 0, id: `chart-${title.replace(/\W+/g, "-")}` },
    ticks.flatMap((value) => [s("line", { class: "grid", x1: LEFT, x2: wide - RIGHT, y1: y(value), y2: y(value) }),
      s("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, format(value))]),
    lines.map((line) => s("path", { class: line.cls, d: pathOf(points.map(line.value), x, y) })),
    s("text", { x: LEFT, y: HEIGHT - 4 }, ago), s("text", { x: wide - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, "now"));
  const marker = s("line", { class: "marker", y1: TOP, y2: HEIGHT - BOTTOM });
  const time = h("span", { class: "soft small nowrap" });
  const values = lines.map((line) => h("b", {}));
  drawing.append(marker);
  const tell = () => {
    const own = shown.title === title;
    const at = points.length - 1 - (own ? Math.min(shown.back, points.length - 1) : 0);
    lines.forEach((line, i) => {
      const value = line.value(points[at]);
      values[i].textContent = value === null ? "–" : format(value);
    });
    time.textContent = own ? when(points[at]) : "";
    marker.setAttribute("visibility", own ? "visible" : "hidden");
    marker.setAttribute("x1", x(at));
    marker.setAttribute("x2", x(at));
    drawing.setAttribute("aria-label", `${title}${own ? `, ${when(points[at])}` : ""}: ${lines.map((line, i) => `${line.name} ${values[i].textContent}`).join(", ")}`);
  };
  const move = (back) => { shown = { title, back: Math.min(Math.max(back, 0), points.length - 1) }; tell(); };
  const leave = () => { if (shown.title === title) shown = { title: "", back: 0 }; tell(); };
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const along = ((event.clientX - box.left) / box.width * wide - LEFT) / (wide - LEFT - RIGHT);
    move(points.length - 1 - Math.round(along * (points.length - 1)));
  });
  drawing.addEventListener("pointerleave", leave);
  drawing.addEventListener("blur", leave);
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: 1, ArrowRight: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    move((shown.title === title ? shown.back : 0) + step);
  });
  tell();
  return h("section", { class: "sheet" }, h("div", { class: "table-head" }, h("h2", {}, title), time), drawing,
    h("p", { class: "keys" }, lines.map((line, i) => h("span", { class: "key" }, h("i", { class: line.cls }), line.name, values[i]))));
}

function powers(most) {
  const all = [];
  for (let value = 10; value <= most; value *= 10) all.push(value);
  return all;
}

// A point without neighbours is a dot.
function pathOf(values, x, y) {
  let path = "";
  values.forEach((value, i) => {
    if (value === null) return;
    const joined = i > 0 && values[i - 1] !== null;
    path += `${joined ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}${joined ? "" : "h0.1"}`;
  });
  return path;
}
