// SPDX-License-Identifier: MIT
// node read_dhat.js DH_VIEW.js FILE: Valgrind's own viewer reads FILE without a browser, as far as its page goes; prints
// the sums of its tree and what it would show.
"use strict";
const fs = require("fs");
const vm = require("vm");

class Element {
  constructor(text) {
    this.children = [];
    this.text = text || "";
    this.selectedIndex = 0;
    this.classList = {add() {}, contains() { return false; }, toggle() {}, remove() {}, length: 0};
  }
  set textContent(text) { this.text = text; this.children = []; }
  get textContent() { return this.text + this.children.map((child) => child.textContent).join(""); }
  get childNodes() { return this.children; }
  appendChild(child) { this.children.push(child); child.parentNode = this; return child; }
  cloneNode() { return new Element(); }
  replaceChild(by, old) { this.children[this.children.indexOf(old)] = by; by.parentNode = this; }
  addEventListener() {}
  setAttribute() {}
}

const document = {
  body: new Element(),
  location: {search: ""},
  createElement: () => new Element(),
  createTextNode: (text) => new Element(text),
};
const viewer = fs.readFileSync(process.argv[2], "utf8");
const read = `
  onLoad();
  gFilename = "file";
  gData = JSON.parse(text);
  buildTree();
  displayTree();
  report({totalBytes: gRoot._totalBytes, totalBlocks: gRoot._totalBlocks, atPeakBytes: gRoot._atTGmaxBytes,
          atEndBytes: gRoot._atTEndBytes, atEndBlocks: gRoot._atTEndBlocks, shown: gMainDiv.textContent});`;
vm.runInNewContext(viewer + read, {
  document, URLSearchParams, performance, text: fs.readFileSync(process.argv[3], "utf8"),
  report: (found) => console.log(JSON.stringify(found)),
});
