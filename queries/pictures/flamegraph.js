// SPDX-License-Identifier: MIT
// Zoom by click, search by regular expression, figures of the frame under the pointer.
"use strict";
(function () {
  const svg = document.documentElement;
  const picture = document.getElementById("frames");
  const details = document.getElementById("details");
  const matched = document.getElementById("matched");
  const left = Number(picture.dataset.left), width = Number(picture.dataset.width);
  const characterWidth = 7.2, gap = 6;

  // Every frame as it was drawn; y tells its depth, x and width whose child it is.
  const frames = Array.from(picture.children, function (group) {
    const rect = group.querySelector("rect");
    const title = group.querySelector("title").textContent;
    return {
      group: group, rect: rect, label: group.querySelector("text"), title: title,
      name: title.split("\n")[0],
      x: Number(rect.getAttribute("x")) - left, width: Number(rect.getAttribute("width")),
      y: Number(rect.getAttribute("y")), fill: rect.getAttribute("fill")
    };
  });
  const root = frames[0];
  let zoomed = root;

  function shorten(text, room) {
    const fitting = Math.floor((room - gap) / characterWidth);
    if (fitting < 3) { return ""; }
    return text.length <= fitting ? text : text.slice(0, fitting - 2) + "..";
  }

  function place(frame, x, frameWidth) {
    frame.rect.setAttribute("x", left + x);
    frame.rect.setAttribute("width", frameWidth);
    frame.label.setAttribute("x", left + x + gap / 2);
    frame.label.textContent = shorten(frame.group.dataset.short || frame.name, frameWidth);
  }

  // Callers of the zoomed frame take the whole width, its callees their share of it.
  function zoom(target) {
    const scale = width / target.width, end = target.x + target.width, tolerance = 1e-3;
    zoomed = target;
    frames.forEach(function (frame) {
      const isAround = frame.y < target.y && frame.x <= target.x + tolerance && frame.x + frame.width >= end - tolerance;
      const isInside = frame.y >= target.y && frame.x >= target.x - tolerance && frame.x + frame.width <= end + tolerance;
      frame.group.style.display = isAround || isInside ? "" : "none";
      frame.group.style.opacity = isAround ? 0.5 : 1;
      if (isAround) { place(frame, 0, width); }
      if (isInside) { place(frame, (frame.x - target.x) * scale, frame.width * scale); }
    });
    document.getElementById("reset").style.display = target === root ? "none" : "";
  }

  // What matches, a frame inside another that matches counted once.
  function coverage(matches) {
    let covered = 0, reached = 0;
    matches.slice().sort(function (a, b) { return a.x - b.x || b.width - a.width; }).forEach(function (frame) {
      const begin = Math.max(reached, frame.x), end = frame.x + frame.width;
      if (end > begin) { covered += end - begin; reached = end; }
    });
    return covered / root.width;
  }

  function search(text) {
    let pattern = null;
    try { pattern = text ? new RegExp(text, "i") : null; } catch (problem) { matched.textContent = String(problem.message); return; }
    const matches = frames.filter(function (frame) { return pattern && frame !== root && pattern.test(frame.name); });
    frames.forEach(function (frame) { frame.rect.setAttribute("fill", frame.fill); });
    matches.forEach(function (frame) { frame.rect.setAttribute("fill", "#e040fb"); });
    matched.textContent = pattern ? "matched " + (100 * coverage(matches)).toFixed(1) + " %" : "";
  }

  function ask() {
    const text = window.prompt("Regular expression, empty for none:", "");
    if (text !== null) { search(text); }
  }

  frames.forEach(function (frame) {
    frame.group.addEventListener("click", function () { zoom(frame); });
    frame.group.addEventListener("mouseover", function () { details.textContent = frame.title.split("\n").join("   "); });
    frame.group.addEventListener("mouseout", function () { details.textContent = ""; });
  });
  document.getElementById("reset").addEventListener("click", function () { zoom(root); });
  document.getElementById("search").addEventListener("click", ask);
  svg.ownerDocument.addEventListener("keydown", function (event) {
    if (event.key === "Escape") { zoom(root); search(""); }
    if (event.key === "/" || (event.key === "f" && event.ctrlKey)) { event.preventDefault(); ask(); }
  });
  document.getElementById("reset").style.display = zoomed === root ? "none" : "";
}());
