// Sorts tables that are marked with data-sort, by a click on a heading.
function keyOf(cell) {
  const raw = cell.dataset.value ?? cell.querySelector("time")?.dateTime ?? cell.textContent.trim();
  const number = Number(raw);
  return raw !== "" && Number.isFinite(number) ? number : String(raw).toLowerCase();
}

function sort(table, column, descending) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [keyOf(row.cells[column]), row]);
  rows.sort(([one], [other]) => {
    const order = typeof one === typeof other ? (one < other ? -1 : one > other ? 1 : 0) : typeof one === "number" ? -1 : 1;
    return descending ? -order : order;
  });
  body.append(...rows.map(([, row]) => row));
}

export function enhanceTables(root) {
  for (const table of root.querySelectorAll("table[data-sort]")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      if (!heading.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const descending = heading.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
        sort(table, column, descending);
      });
    });
  }
}
