// Returns where an element can be clicked, or why it cannot. Runs in an isolated world.
(name, answer, selector) => {
  const element = document.querySelector(selector);
  if (element === null) return { fault: "element_not_found" };
  element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  const box = [...element.getClientRects()].find((rect) => rect.width > 0 && rect.height > 0);
  if (box === undefined || getComputedStyle(element).visibility !== "visible") return { fault: "element_hidden" };
  // The middle of the part that is in the window.
  const middle = (from, to, end) => (Math.max(0, from) + Math.min(end, to)) / 2;
  const x = middle(box.left, box.right, innerWidth);
  const y = middle(box.top, box.bottom, innerHeight);
  if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) return { fault: "element_hidden" };
  const hit = document.elementFromPoint(x, y);
  const label = hit?.closest("label");
  const reached = hit !== null && (element.contains(hit) || hit.contains(element) || label?.control === element);
  return reached ? { x, y } : { fault: "element_covered" };
}
