// The overview: what a stream cannot bind by name, the chart of minutes and the table of jobs.
import { renderChart } from "./charts.js";
import { formats } from "./formats.js";

function row(job) {
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  const link = document.createElement("a");
  link.href = `/app/jobs?kind=${encodeURIComponent(job.kind)}`;
  link.textContent = job.kind.replaceAll("_", " ");
  head.append(link);
  line.append(head);
  for (const count of [job.queued, job.running]) {
    const cell = document.createElement("td");
    cell.className = "num";
    cell.textContent = formats.number(count);
    line.append(cell);
  }
  return line;
}

function show(section, data) {
  const series = data.crawls.minutes.map((minute) => minute.fetched);
  renderChart(section.querySelector("figure.chart"), series);
  section.querySelector("[data-quiet]").hidden = series.some((count) => count > 0);
  if (data.crawls.successRate === null) section.querySelector('[data-bind="crawls.successRate"]').textContent = "not known";
  const table = section.querySelector("[data-jobs]");
  table.querySelector("tbody").replaceChildren(...data.jobs.map(row));
  table.hidden = data.jobs.length === 0;
  section.querySelector("[data-no-jobs]").hidden = data.jobs.length > 0;
}

export function enhanceOverview(root) {
  for (const section of root.querySelectorAll("[data-overview]")) {
    section.addEventListener("gossamer:data", (event) => show(section, event.detail));
  }
}
