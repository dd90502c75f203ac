"use strict";
(() => {
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  // A deep link opens the trial it names, and everything around it.
  function reveal() {
    let id;
    try { id = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const target = id && document.getElementById(id);
    if (!target) return;
    target.hidden = false;
    for (let node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") { node.open = true; node.hidden = false; }
    }
    target.scrollIntoView();
    const summary = target.tagName === "DETAILS" && target.querySelector("summary");
    if (summary) summary.focus({ preventScroll: true });
  }
  addEventListener("hashchange", reveal);
  addEventListener("load", () => setTimeout(reveal)); // once the browser's own jump is done, which takes the focus away
  reveal();

  // Filters: on the scenario for tier, family and incident; on the trial for verdict and text.
  const filters = document.getElementById("filters");
  const fields = filters ? all("[data-filter]", filters) : []; // none on a page without trials
  const shown = document.getElementById("shown");
  const texts = new WeakMap();
  const textOf = (node) => {
    if (!texts.has(node)) texts.set(node, node.textContent.toLowerCase());
    return texts.get(node);
  };
  const wanted = () => Object.fromEntries(fields.map((f) => [f.dataset.filter, f.value.trim()]));

  function matches(trial, head, want) {
    if (want.v === "red" ? !("red" in trial.dataset) : want.v && trial.dataset.v !== want.v) return false;
    if (want.cause && trial.dataset.cause !== want.cause) return false;
    if (want.by && trial.dataset.by !== want.by) return false;
    if (want.tool && !(trial.dataset.tool || "").split(" ").includes(want.tool)) return false;
    return !want.text || head.includes(want.text) || textOf(trial).includes(want.text);
  }
  function apply() {
    const want = wanted();
    want.text = want.text.toLowerCase();
    const active = Object.values(want).some(Boolean);
    let count = 0, total = 0;
    for (const scenario of all("details.s")) {
      const fits = ["tier", "family", "incident"].every((k) => !want[k] || scenario.dataset[k] === want[k]);
      const head = textOf(scenario.querySelector("summary")) + textOf(scenario.querySelector(".about"));
      let kept = 0;
      for (const trial of all("details.t", scenario)) {
        const keep = fits && matches(trial, head, want);
        if (trial.hidden === keep) trial.hidden = !keep;
        kept += keep;
        total += 1;
      }
      if (scenario.hidden === kept > 0) scenario.hidden = kept === 0;
      if (active && kept && count < 200) scenario.open = true;
      count += kept;
    }
    shown.textContent = active ? `${count} of ${total} trials shown` : "";
  }
  let timer;
  const soon = () => { clearTimeout(timer); timer = setTimeout(apply, 120); };
  for (const field of fields) field.addEventListener(field.tagName === "INPUT" ? "input" : "change", soon);
  if (filters) {
    document.getElementById("reset").addEventListener("click", () => {
      for (const field of fields) field.value = "";
      apply();
      fields[0].focus();
    });
    filters.hidden = false;
  }

  // Every command can be copied; the button is made when its trial is first opened.
  async function copy(code, button) {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected: press Ctrl+C";
    }
  }
  function addButton(code) {
    if (code.nextElementSibling && code.nextElementSibling.tagName === "BUTTON") return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy command";
    button.addEventListener("click", () => copy(code, button));
    code.after(" ", button);
  }
  const buttons = (root) => { for (const code of all(":scope > .foot > code.cmd", root)) addButton(code); };
  for (const code of all(".record code.cmd, .cause code.cmd")) addButton(code);
  for (const trial of all("details.t[open]")) buttons(trial);
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.classList.contains("t")) buttons(event.target);
  }, true);

  // On paper, every scenario shows how its trials ended.
  let folded = [];
  addEventListener("beforeprint", () => {
    const annex = document.getElementById("annex");
    folded = annex && annex.checked ? all("details.s:not([open]), details.fold:not([open])") : [];
    for (const node of folded) node.open = true;
  });
  addEventListener("afterprint", () => { for (const node of folded) node.open = false; });
})();
