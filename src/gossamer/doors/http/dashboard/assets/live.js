// Keeps the numbers of a page current. An element with data-stream names an address that answers with
// server-sent events, or with the same JSON when it is asked for that; data-bind names a value in it.
//   <section data-stream="/api/overview/…" data-event="overview">
//     <span data-bind="jobs.queued" data-format="number">
//     <figure data-chart="pages.series">
//   data-reload="state": when this value changes, the page is read again.
//   A custom event "gossamer:data" carries each message to modules of a page.
import { renderChart } from "./charts.js";
import { write } from "./formats.js";
import { replaceMain } from "./forms.js";

const POLL_MS = 5000;

export function valueAt(data, path) {
  return path.split(".").reduce((value, part) => (value === null || value === undefined ? undefined : value[part]), data);
}

function show(section, data) {
  for (const element of section.querySelectorAll("[data-bind]")) {
    const value = valueAt(data, element.dataset.bind);
    if (value === undefined) continue;
    if (element.dataset.format === "pill") {
      element.className = `pill is-${value}`;
      element.textContent = String(value).replaceAll("_", " ");
      continue;
    }
    if (element.dataset.format === "meter") {
      element.value = value ?? 0;
      continue;
    }
    const text = write(value, element.dataset.format);
    if (element.textContent !== text) element.textContent = text;
  }
  for (const figure of section.querySelectorAll("[data-chart]")) {
    const series = valueAt(data, figure.dataset.chart);
    if (Array.isArray(series)) renderChart(figure, series);
  }
  section.dispatchEvent(new CustomEvent("gossamer:data", { detail: data }));
}

async function readAgain(enhance) {
  const active = document.activeElement;
  if (active && active.matches("input, textarea, select") && active.value) return; // never take away what is typed
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (answer.ok) replaceMain(await answer.text(), enhance);
}

function follow(section, enhance) {
  const { stream, event = "message", reload } = section.dataset;
  let source = null, timer = 0, last, over = false;
  const take = (data) => {
    show(section, data);
    section.dataset.live = "yes";
    if (reload) {
      const now = String(valueAt(data, reload));
      if (last !== undefined && now !== last) readAgain(enhance);
      last = now;
    }
  };
  const poll = async () => {
    if (over) return;
    try {
      const answer = await fetch(stream, { headers: { Accept: "application/json" } });
      if (answer.ok) take(await answer.json());
      else if (answer.status === 401 || answer.status === 404) { stop(); return; }
    } catch { section.dataset.live = "no"; }
    timer = setTimeout(poll, POLL_MS);
  };
  const stop = () => { over = true; source?.close(); clearTimeout(timer); section.dataset.live = "no"; };
  if ("EventSource" in window) {
    source = new EventSource(stream);
    source.addEventListener(event, (message) => take(JSON.parse(message.data)));
    source.addEventListener("end", stop);
    source.addEventListener("error", () => {
      section.dataset.live = "no";
      if (source.readyState === EventSource.CLOSED && !over) { source = null; clearTimeout(timer); timer = setTimeout(poll, POLL_MS); }
    });
  } else poll();
  window.addEventListener("pagehide", stop, { once: true });
  document.querySelector("main").addEventListener("gossamer:leave", stop, { once: true });
}

export function enhanceLive(root, enhance) {
  for (const section of root.querySelectorAll("[data-stream]")) follow(section, enhance);
}
