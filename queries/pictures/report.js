// SPDX-License-Identifier: MIT
// Tables that sort and filter, and a flame graph whose measure, unit, direction and share can be chosen; all from the page itself.
"use strict";
(function () {
  const read = function (id) {
    const text = document.getElementById(id).textContent;
    // control characters, and marks of direction, which would show a name in another order
    return JSON.parse(text.replace(/\\\\|\\u(?:00(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f])|061c|200[ef]|202[89a-e]|206[6-9])/g, function (escape) {
      return escape === "\\\\" ? escape : "?";
    }));
  };
  const make = function (name, text, parent) {
    const element = document.createElement(name);
    if (text !== undefined && text !== null) { element.textContent = text; }
    if (parent) { parent.appendChild(element); }
    return element;
  };

  // ---- figures, by the unit that a column's name ends in ----

  const scaled = function (value, units, step) {
    let i = 0, amount = Math.abs(value);
    while (amount >= step && i + 1 < units.length) { amount /= step; i++; }
    return (value < 0 ? "-" : "") + (i === 0 ? amount : amount.toFixed(amount < 100 ? 1 : 0)) + " " + units[i];
  };
  const bytes = function (value) { return scaled(value, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024); };
  const count = function (value) { return value.toLocaleString("en-US"); };
  const time = function (ns) {
    if (Math.abs(ns) < 1e9) { return scaled(ns, ["ns", "us", "ms"], 1000); }
    const s = ns / 1e9;
    return s < 60 ? s.toFixed(1) + " s" : Math.floor(s / 60) + "m" + String(Math.floor(s % 60)).padStart(2, "0") + "s";
  };
  // Never "100 %" or "0 %" for what is not all or nothing.
  const share = function (value) {
    if (value > 0 && value < 0.001) { return "<0.1 %"; }
    if (value < 1 && value >= 0.9995) { return "99.9 %"; }
    return (100 * value).toFixed(value < 0.0995 || (value > 0.99 && value < 1) ? 1 : 0) + " %";
  };
  const shown = function (column, value) {
    if (value === null) { return ""; }
    if (typeof value !== "number") { return String(value); }
    if (/(^|_)id$|^line$|^[pt]id$/.test(column)) { return String(value); }
    if (/bytes_per_s$/.test(column)) { return bytes(value) + "/s"; }
    if (/bytes$/.test(column)) { return bytes(value); }
    if (/_ns$/.test(column)) { return time(value); }
    if (/share(_of_site)?$/.test(column)) { return share(value); }
    return count(Math.round(value * 1000) / 1000);
  };
  // An estimate with half of the width of its interval.
  const figure = function (column, row) {
    const margin = row[column + "_margin"];
    return shown(column, row[column]) + (typeof margin === "number" ? " \u00b1 " + shown(column, Math.round(margin)) : "");
  };
  const file = function (path) { return path ? path.slice(path.lastIndexOf("/") + 1) : ""; };

  // ---- tables ----

  // Where a row is about: one cell for four columns, with its stack to unfold.
  const whereOf = function (row, cell) {
    const place = row.source ? file(row.source) + (row.line ? ":" + row.line : "") : file(row.module);
    const text = (row.function || "") + "  " + place;
    if (!row.stack) { cell.textContent = text; return; }
    const details = make("details", null, cell);
    make("summary", text, details);
    make("pre", row.stack.split(" < ").join("\n"), details);
  };

  const table = function (section, rows) {
    const hidden = ["function", "source", "line", "module", "stack", "weight", "process_id", "backtrace_id", "suppressed_by"];
    const has = rows.length > 0 && "function" in rows[0] && "module" in rows[0];
    const columns = rows.length === 0 ? [] : Object.keys(rows[0]).filter(function (name) { return !/_margin$/.test(name) && (!has || hidden.indexOf(name) < 0); });
    const isNumber = function (name) { return rows.some(function (row) { return typeof row[name] === "number"; }); };
    const body = document.createElement("tbody");
    let sorted = null, isDown = true, wanted = "", most = 15;

    const fill = function () {
      const pattern = wanted.toLowerCase();
      const list = rows.filter(function (row) { return !pattern || JSON.stringify(row).toLowerCase().indexOf(pattern) >= 0; });
      if (sorted) {
        list.sort(function (a, b) {
          const x = a[sorted], y = b[sorted];
          const order = x === y ? 0 : x === null ? -1 : y === null ? 1 : x < y ? -1 : 1;
          return isDown ? -order : order;
        });
      }
      body.textContent = "";
      more.style.display = list.length > most ? "" : "none";
      more.textContent = "all " + list.length + " rows";
      list.slice(0, most).forEach(function (row) {
        const line = make("tr", null, body);
        columns.forEach(function (name) { make("td", figure(name, row), line).className = isNumber(name) ? "number" : ""; });
        if (has) {
          const cell = make("td", null, line);
          cell.className = "code";
          whereOf(row, cell);
        }
      });
    };

    if (rows.length === 0) { make("p", "none", section).className = "soft"; return; }
    const controls = make("div", null, section);
    controls.className = "controls";
    const search = make("input", null, controls);
    search.type = "search";
    search.placeholder = "rows with …";
    search.setAttribute("aria-label", "only rows that contain");
    search.addEventListener("input", function () { wanted = search.value; fill(); });
    const more = document.createElement("button");
    more.type = "button";
    more.addEventListener("click", function () { most = rows.length; fill(); });
    const scroll = make("div", null, section);
    scroll.className = "scroll";
    const whole = make("table", null, scroll);
    const head = make("tr", null, make("thead", null, whole));
    columns.concat(has ? ["function"] : []).forEach(function (name) {
      const cell = make("th", name === "function" && has ? "where" : name.replace(/_ns$/, "").replace(/_/g, " "), head);
      cell.tabIndex = 0;
      cell.className = isNumber(name) ? "number" : "";
      const sort = function () {
        isDown = sorted === name ? !isDown : isNumber(name);
        sorted = name;
        head.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
        cell.setAttribute("aria-sort", isDown ? "descending" : "ascending");
        fill();
      };
      cell.addEventListener("click", sort);
      cell.addEventListener("keydown", function (event) { if (event.key === "Enter") { sort(); } });
    });
    whole.appendChild(body);
    section.appendChild(more);
    fill();
  };

  document.querySelectorAll("section[data-rows]").forEach(function (section) { table(section, read(section.dataset.rows)); });

  // ---- flame graph ----

  const flame = read("flame");
  const canvas = document.getElementById("flames"), figures = document.getElementById("figures");
  const chosen = { measure: 0, unit: 0, isInverted: false, isFolded: false, least: 0.001, search: "" };
  let tree = null, zoomed = null, boxes = [];
  const rowHeight = 18;

  // Every node as a stack of names from the root; the tree is made anew of what is chosen.
  const grow = function () {
    const list = flame.measures[chosen.measure].nodes, names = flame.names;
    const root = { name: -1, children: new Map(), parent: null, value: 0, self: 0, depth: 0 };
    const paths = [[]];
    const down = function (node, name) {
      if (chosen.isFolded) {
        for (let up = node; up; up = up.parent) { if (up.name === name) { return up; } }
      }
      let child = node.children.get(name);
      if (!child) {
        child = { name: name, children: new Map(), parent: node, value: 0, self: 0, depth: node.depth + 1 };
        node.children.set(name, child);
      }
      return child;
    };
    for (let i = 0; i < list.length; i += 4) {
      const path = i === 0 ? [] : paths[list[i]].concat(list[i + 1]);
      const weight = list[i + 2 + chosen.unit];
      paths[i / 4] = path;
      if (weight === 0) { continue; }
      let node = root;
      (chosen.isInverted ? path.slice().reverse() : path).forEach(function (name) { node = down(node, name); });
      node.self += weight;
      for (let up = node; up; up = up.parent) { up.value += weight; }
    }
    const lay = function (node, x) {
      node.x = x;
      node.title = node.name < 0 ? "all" : names[node.name][0];
      node.module = node.name < 0 ? "" : names[node.name][1];
      node.list = Array.from(node.children.values()).sort(function (a, b) { return b.value - a.value; });
      let at = x;
      node.list.forEach(function (child) { at += child.value; });
      at = x;
      node.list.forEach(function (child) { child.x = at; at += child.value; });
    };
    const waiting = [root];
    root.x = 0;
    while (waiting.length) {
      const node = waiting.pop();
      lay(node, node.x);
      node.list.forEach(function (child) { waiting.push(child); });
    }
    tree = root;
    zoomed = root;
  };

  const hueOf = function (text) {
    let hash = 0;
    for (let i = 0; i < text.length; i++) { hash = (hash * 31 + text.charCodeAt(i)) >>> 0; }
    return hash % 360;
  };
  const shorten = function (name) {
    let text = name.replace(/\((?!anonymous).*$/, ""), before = null;
    while (before !== text) { before = text; text = text.replace(/<[^<>]+>/g, "‹›"); }
    return text || name;
  };
  const amount = function (value) { return chosen.unit === 0 ? bytes(value) : count(value) + " blocks"; };

  const draw = function () {
    const width = canvas.clientWidth, dots = window.devicePixelRatio || 1;
    const isDark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const pattern = (function () { try { return chosen.search ? new RegExp(chosen.search, "i") : null; } catch (problem) { return null; } }());
    const scale = width / (zoomed.value || 1);
    boxes = [];
    let deepest = 0;
    const place = function (node, x, w) {
      if (node !== zoomed && node.depth > zoomed.depth && node.value < chosen.least * tree.value) { return; }
      if (w < 0.4) { return; }
      boxes.push({ node: node, x: x, w: w });
      deepest = Math.max(deepest, node.depth);
    };
    for (let up = zoomed.parent; up; up = up.parent) { place(up, 0, width); }
    const waiting = [zoomed];
    while (waiting.length) {
      const node = waiting.pop();
      const w = node.value * scale;
      const before = boxes.length;
      place(node, (node.x - zoomed.x) * scale, w);
      if (boxes.length > before) { node.list.forEach(function (child) { waiting.push(child); }); }
    }
    canvas.width = width * dots;
    canvas.height = (deepest + 1) * rowHeight * dots;
    canvas.style.height = (deepest + 1) * rowHeight + "px";
    const pen = canvas.getContext("2d");
    pen.scale(dots, dots);
    pen.font = "12px ui-monospace, monospace";
    let matched = 0;
    boxes.forEach(function (box) {
      const node = box.node, isMatch = pattern && node !== tree && pattern.test(node.title);
      const hue = hueOf(node.module);
      pen.fillStyle = isMatch ? "#c026d3" : node === tree ? (isDark ? "#3a3d44" : "#ccc") : "hsl(" + hue + " 50% " + (isDark ? 30 : 72) + "%)";
      pen.globalAlpha = node.depth < zoomed.depth ? 0.5 : 1;
      pen.fillRect(box.x, node.depth * rowHeight, Math.max(box.w - 0.5, 0.4), rowHeight - 1);
      if (isMatch) { matched++; }
      if (box.w > 30) {
        const room = Math.floor((box.w - 6) / 7.3), text = node.name >= 0 && node.title === node.module ? file(node.title) : shorten(node.title);
        pen.fillStyle = isMatch || isDark ? "#fff" : "#111";
        pen.fillText(text.length <= room ? text : text.slice(0, Math.max(0, room - 2)) + "..", box.x + 3, node.depth * rowHeight + 13);
      }
    });
    pen.globalAlpha = 1;
    document.getElementById("matches").textContent = pattern ? matched + " boxes match" : "";
    tell(zoomed);
  };

  const tell = function (node) {
    figures.textContent = node.title + (node.module && node.module !== node.title ? "  " + file(node.module) : "") + "\n" + amount(node.value) + ", "
      + share(node.value / (tree.value || 1)) + (node.self && node.list.length ? "; of its own " + amount(node.self) : "");
  };
  const boxAt = function (event) {
    const x = event.offsetX, depth = Math.floor(event.offsetY / rowHeight);
    return boxes.find(function (box) { return box.node.depth === depth && x >= box.x && x <= box.x + box.w; });
  };
  const again = function () { grow(); draw(); };

  if (flame.measures.length === 0) {
    make("p", "no stacks", document.getElementById("flame-section")).className = "soft";
    canvas.style.display = "none";
    return;
  }
  const buttons = document.getElementById("measures");
  flame.measures.forEach(function (measure, i) {
    const button = make("button", measure.title, buttons);
    button.type = "button";
    button.setAttribute("aria-pressed", String(i === 0));
    button.addEventListener("click", function () {
      chosen.measure = i;
      Array.from(buttons.children).forEach(function (other) { other.setAttribute("aria-pressed", String(other === button)); });
      again();
    });
  });
  const bind = function (id, event, set) {
    document.getElementById(id).addEventListener(event, function (change) { set(change.target); });
  };
  bind("unit", "change", function (target) { chosen.unit = Number(target.value); again(); });
  bind("inverted", "change", function (target) { chosen.isInverted = target.checked; again(); });
  bind("folded", "change", function (target) { chosen.isFolded = target.checked; again(); });
  bind("least", "input", function (target) { chosen.least = Number(target.value) / 1000; document.getElementById("least-said").textContent = (Number(target.value) / 10).toFixed(1) + " %"; draw(); });
  bind("search", "input", function (target) { chosen.search = target.value; draw(); });
  bind("whole", "click", function () { zoomed = tree; draw(); });
  canvas.addEventListener("mousemove", function (event) { const box = boxAt(event); tell(box ? box.node : zoomed); });
  canvas.addEventListener("mouseleave", function () { tell(zoomed); });
  canvas.addEventListener("click", function (event) { const box = boxAt(event); if (box) { zoomed = box.node; draw(); } });
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  again();
}());
