// Follows a running crawl: its newest pages, its busiest hosts, what it waits for, and its chart.
import { renderChart } from "./charts.js";
import { formats } from "./formats.js";

const CHART_MS = 20000;

function cell(tag, text, name = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.textContent = text;
  return made;
}

function row(path, title, ...cells) {
  const made = document.createElement("tr");
  const heading = cell("th", "");
  const link = cell("a", title);
  heading.scope = "row";
  link.href = path;
  heading.append(link);
  made.append(heading, ...cells);
  return made;
}

function pageRow(crawl, page) {
  const outcome = cell("td", "");
  outcome.append(cell("span", page.outcome.replaceAll("_", " "), `pill is-${page.outcome}`));
  const path = `/app/crawls/${crawl}/pages/${page.pageId}`;
  const made = row(path, page.title || page.url, outcome, cell("td", page.statusCode ?? "–", "num"));
  made.cells[0].append(cell("div", page.url, "fine url"));
  return made;
}

function hostRow(host) {
  const counts = [host.pending, host.inProgress, host.done];
  return row(`/app/domains/${encodeURIComponent(host.host)}`, host.host, ...counts.map((count) => cell("td", formats.number(count), "num")));
}

function show(section, data) {
  const rows = { pages: data.pages.map((page) => pageRow(section.dataset.crawl, page)), hosts: data.hosts.map(hostRow) };
  for (const body of section.querySelectorAll("[data-rows]")) {
    const made = rows[body.dataset.rows];
    if (made.length && !body.contains(document.activeElement)) body.replaceChildren(...made);
  }
  const waiting = section.querySelector("[data-waiting]");
  waiting.hidden = !data.waiting;
  if (data.waiting) {
    const until = data.waiting.until ? ` It goes on ${new Date(data.waiting.until).toLocaleTimeString()}.` : "";
    waiting.textContent = `It sends no requests now. ${JSON.parse(waiting.dataset.waiting)[data.waiting.reason]}${until}`;
  }
}

async function drawSeries(section) {
  const answer = await fetch(section.dataset.series, { headers: { Accept: "application/json" } }).catch(() => null);
  if (!answer?.ok) return;
  const { points } = await answer.json();
  renderChart(section.querySelector(".chart"), points.map((point) => point.fetched));
  for (const place of section.querySelectorAll("[data-outcome]")) {
    place.textContent = formats.number(points.reduce((sum, point) => sum + point.outcomes[place.dataset.outcome], 0));
  }
}

function showPreview(preview) {
  preview.scrollIntoView();
  preview.focus({ preventScroll: true });
}

export function enhanceCrawl(root) {
  const preview = root.querySelector("[data-preview]");
  if (preview) setTimeout(() => showPreview(preview)); // after the page has gone to its top
  for (const section of root.querySelectorAll("[data-crawl]")) {
    let drawn = 0;
    section.addEventListener("gossamer:data", ({ detail }) => {
      show(section, detail);
      if (Date.now() - drawn < CHART_MS) return;
      drawn = Date.now();
      drawSeries(section);
    });
  }
}
