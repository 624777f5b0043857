// Scrolls the page or an element, and returns why it cannot. Runs in an isolated world.
(name, answer, selector, direction, amount) => {
  const element = selector === null ? null : document.querySelector(selector);
  if (selector !== null && element === null) return "element_not_found";
  if (direction === null) {
    element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    return "";
  }
  const upright = direction === "up" || direction === "down";
  const seen = element === null ? [innerWidth, innerHeight] : [element.clientWidth, element.clientHeight];
  const length = (amount ?? seen[upright ? 1 : 0]) * (direction === "up" || direction === "left" ? -1 : 1);
  const by = { left: upright ? 0 : length, top: upright ? length : 0, behavior: "instant" };
  (element ?? window).scrollBy(by);
  return "";
}
