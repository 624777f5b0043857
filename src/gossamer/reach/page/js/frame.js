// Returns the position and size of an element, or the size of the page. Runs in an isolated world.
(name, answer, selector) => {
  const root = document.scrollingElement ?? document.documentElement;
  if (selector === null) {
    return { x: 0, y: 0, width: root.scrollWidth, height: Math.max(root.scrollHeight, window.innerHeight) };
  }
  const element = document.querySelector(selector);
  if (element === null) return null;
  element.scrollIntoView({ block: "center", behavior: "instant" });
  const { x, y, width, height } = element.getBoundingClientRect();
  return { x: x + window.scrollX, y: y + window.scrollY, width, height };
}
