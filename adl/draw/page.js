// The script of the page that `tenon graph --format html` writes. It changes only the part of the picture that is
// visible (the viewBox) and classes of its elements.
"use strict";
const view = document.getElementById("view"), svg = view.querySelector("svg");
const search = document.getElementById("search"), count = document.getElementById("count");
const size = { width: svg.viewBox.baseVal.width, height: svg.viewBox.baseVal.height };
const at = { x: 0, y: 0, scale: 1 }; // the top left corner in the picture, and pixels for each of its units
const pointers = new Map();
const topSpace = document.getElementById("tools").offsetHeight + 12; // above the picture when it fits the window
let moved = 0, matches = [], match = -1;
let fitted = true; // until the person changes the view

function show() {
  svg.setAttribute("viewBox", [at.x, at.y, view.clientWidth / at.scale, view.clientHeight / at.scale].join(" "));
}

function fitScale() {
  return Math.min(view.clientWidth / size.width, (view.clientHeight - topSpace) / size.height);
}

function center(x, y) {
  at.x = x - view.clientWidth / at.scale / 2;
  at.y = y - view.clientHeight / at.scale / 2;
  fitted = false;
  show();
}

function fit() {
  at.scale = Math.min(fitScale(), 1.5);
  center(size.width / 2, size.height / 2 - topSpace / at.scale / 2);
  fitted = true;
}

// Zooms around a place of the window; without one, around the middle.
function zoom(factor, x = view.clientWidth / 2, y = view.clientHeight / 2) {
  const scale = Math.min(8, Math.max(Math.min(fitScale(), 1) / 2, at.scale * factor));
  at.x += x / at.scale - x / scale;
  at.y += y / at.scale - y / scale;
  at.scale = scale;
  fitted = false;
  show();
}

function pan(x, y) {
  at.x += x / at.scale;
  at.y += y / at.scale;
  fitted = false;
  show();
}

// ---- Pointers: one drags, two zoom ----

view.addEventListener("pointerdown", event => {
  if (event.button > 1) return;
  if (!pointers.size) moved = 0;
  pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
});

view.addEventListener("pointermove", event => {
  const last = pointers.get(event.pointerId);
  if (!last) return;
  const other = [...pointers].find(([id]) => id !== event.pointerId);
  moved += Math.abs(event.clientX - last.x) + Math.abs(event.clientY - last.y);
  if (moved > 4) {
    view.setPointerCapture(event.pointerId);
    view.classList.add("moving");
  }
  if (other) {
    const { x, y } = other[1];
    const before = Math.hypot(last.x - x, last.y - y), after = Math.hypot(event.clientX - x, event.clientY - y);
    if (before > 0 && after > 0) zoom(after / before, x, y);
  } else {
    pan(last.x - event.clientX, last.y - event.clientY);
  }
  pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
});

for (const name of ["pointerup", "pointercancel"]) {
  view.addEventListener(name, event => {
    pointers.delete(event.pointerId);
    if (!pointers.size) view.classList.remove("moving");
  });
}

view.addEventListener("wheel", event => {
  event.preventDefault();
  const lines = event.deltaMode === 1 ? 16 : 1;
  zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX, event.clientY);
}, { passive: false });

// ---- Lines of a node: a click on the node dims all others ----

function select(node) {
  const id = node && node.dataset.node, place = node && node.parentNode;
  for (const edge of svg.querySelectorAll(".edge, .label")) {
    const own = edge.parentNode === place && (edge.dataset.from === id || edge.dataset.to === id);
    edge.classList.toggle("dimmed", Boolean(node) && !own);
  }
}

view.addEventListener("click", event => {
  if (moved <= 4) select(event.target.closest(".node"));
});

// ---- Search ----

function goTo(index) {
  if (match >= 0) matches[match].classList.remove("current");
  match = matches.length ? (index + matches.length) % matches.length : -1;
  count.textContent = search.value ? `${match + 1} / ${matches.length}` : "";
  if (match < 0) return;
  const node = matches[match], box = node.querySelector(".box").getBoundingClientRect();
  node.classList.add("current");
  at.scale = Math.max(at.scale, 0.8);
  const point = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2)
    .matrixTransform(svg.getScreenCTM().inverse());
  center(point.x, point.y);
}

search.addEventListener("input", () => {
  const text = search.value.toLowerCase();
  for (const node of matches) node.classList.remove("found", "current");
  match = -1;
  matches = text ? [...svg.querySelectorAll(".node")].filter(node => node.dataset.node.toLowerCase().includes(text)) : [];
  for (const node of matches) node.classList.add("found");
  goTo(0);
});

search.addEventListener("keydown", event => {
  if (event.key === "Enter") goTo(match + (event.shiftKey ? -1 : 1));
  if (event.key === "Escape") view.focus();
  event.stopPropagation();
});

// ---- Keys and buttons ----

const actions = {
  "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "0": fit, "/": () => search.focus(),
  ArrowLeft: () => pan(-60, 0), ArrowRight: () => pan(60, 0), ArrowUp: () => pan(0, -60), ArrowDown: () => pan(0, 60),
  Escape: () => select(null),
};

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
});

for (const button of document.querySelectorAll("#tools button")) {
  button.addEventListener("click", () => actions[button.dataset.key]());
}

// A line is thin: a wide invisible copy receives the pointer, so that the title of the line appears.
const lines = svg.querySelectorAll(".line");
for (const line of lines.length > 2000 ? [] : lines) {
  const wide = line.cloneNode();
  wide.setAttribute("class", "wide");
  line.after(wide);
}

window.addEventListener("resize", () => fitted ? fit() : show());
fit();
