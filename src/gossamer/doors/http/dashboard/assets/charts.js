// Draws a series as SVG bars: the twin of the macro `chart`.
import { formats } from "./formats.js";

const SVG = "http://www.w3.org/2000/svg";

export function renderChart(figure, series) {
  const svg = figure.querySelector("svg");
  const most = Math.max(1, ...series);
  svg.setAttribute("viewBox", `0 0 ${Math.max(1, series.length) * 10} 100`);
  while (svg.childElementCount > series.length) svg.lastElementChild.remove();
  while (svg.childElementCount < series.length) svg.append(document.createElementNS(SVG, "rect"));
  series.forEach((value, index) => {
    const height = (value / most) * 96;
    const bar = svg.children[index];
    bar.setAttribute("x", index * 10 + 1);
    bar.setAttribute("y", 100 - height);
    bar.setAttribute("width", 8);
    bar.setAttribute("height", height);
  });
  const highest = Math.max(0, ...series);
  const line = figure.querySelector("[data-chart-most]");
  if (line) line.textContent = `highest ${formats.number(highest)}`;
}
