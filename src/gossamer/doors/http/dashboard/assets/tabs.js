// Shows sections that follow each other as tabs: <div data-tabs> with <section class="tab">, each with a heading.
function choose(tabs, chosen, focus) {
  for (const [button, section] of tabs) {
    const on = button === chosen;
    button.setAttribute("aria-selected", String(on));
    button.tabIndex = on ? 0 : -1;
    section.hidden = !on;
  }
  if (focus) chosen.focus();
}

const MOVES = { ArrowRight: 1, ArrowLeft: -1 };

function build(box) {
  const sections = [...box.children].filter((child) => child.matches("section.tab"));
  if (sections.length < 2) return;
  const list = document.createElement("div");
  list.className = "tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", box.dataset.tabs || "Parts of the result");
  const tabs = sections.map((section) => {
    const heading = section.querySelector("h2, h3");
    const button = document.createElement("button");
    button.type = "button";
    button.id = `b-${section.id}`;
    button.textContent = heading.textContent;
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", section.id);
    section.setAttribute("role", "tabpanel");
    section.setAttribute("aria-labelledby", button.id);
    heading.className = "visually-hidden";
    list.append(button);
    return [button, section];
  });
  const buttons = tabs.map(([button]) => button);
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[role=tab]");
    if (button) choose(tabs, button, false);
  });
  list.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const to = event.key === "Home" ? 0 : event.key === "End" ? buttons.length - 1 : at + (MOVES[event.key] ?? 0);
    if (at < 0 || (to === at && !(event.key in MOVES))) return;
    event.preventDefault();
    choose(tabs, buttons[(to + buttons.length) % buttons.length], true);
  });
  box.prepend(list);
  choose(tabs, buttons[0], false);
}

export function enhanceTabs(root) {
  for (const box of root.querySelectorAll("[data-tabs]")) build(box);
}
