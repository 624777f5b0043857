// Follows a job: its progress and its timeline. When its state changes, the page is read again.
//   <div data-job-events="/api/jobs/…/events?after=2" data-job-queued="2026-…Z">
//     <progress data-job-progress>  <span data-job-percent>  <span data-job-step>  <ol data-job-timeline>
//     <span data-count="ok">, with data-job-counts="/batch/fetch/…" on the element above
//   <div id="list" data-refresh>: a list with unfinished jobs.
import { write } from "./formats.js";
import { replaceMain } from "./forms.js";

const TYPES = ["status_changed", "step_started", "step_done", "warning", "error", "metric"];
const REFRESH_MS = 3000;
const OVER = ["done", "failed", "canceled"];

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

function addToTimeline(list, event, queued) {
  const line = document.createElement("li");
  if (event.type === "warning" || event.type === "error") line.className = "is-bad";
  const time = element("span", "fine num", `+ ${write(new Date(event.at) - new Date(queued), "duration")}`);
  time.title = event.at;
  line.append(time, " ", element(event.type === "status_changed" ? "strong" : "span", "", event.type === "step_done" ? `${event.message}: done` : event.message));
  if (event.progress !== null && event.type !== "status_changed") line.append(" ", element("span", "fine num", `${event.progress} %`));
  list.append(line);
}

// Numbers that no event carries: data-count names a field of the JSON at data-job-counts.
async function showCounts(section) {
  const answer = await fetch(section.dataset.jobCounts, { headers: { Accept: "application/json" } });
  if (!answer.ok) return;
  const counts = await answer.json();
  for (const value of section.querySelectorAll("[data-count]")) value.textContent = write(counts[value.dataset.count], "number");
}

function show(section, event) {
  if (section.dataset.jobCounts) showCounts(section).catch(() => {});
  const list = section.querySelector("[data-job-timeline]");
  if (list) addToTimeline(list, event, section.dataset.jobQueued);
  const step = section.querySelector("[data-job-step]");
  if (step && event.type !== "status_changed") step.textContent = event.message;
  if (event.progress === null) return;
  for (const bar of section.querySelectorAll("[data-job-progress]")) bar.value = event.progress;
  for (const text of section.querySelectorAll("[data-job-percent]")) text.textContent = `${event.progress} %`;
}

// The page as it is now, without what it said about a form that was sent.
async function readPage() {
  const here = new URL(location.href);
  if (here.searchParams.has("notice")) {
    here.searchParams.delete("notice");
    history.replaceState({}, "", here);
  }
  try {
    const answer = await fetch(here, { headers: { Accept: "text/html" } });
    return answer.ok ? await answer.text() : "";
  } catch {
    return "";
  }
}

// A list with unfinished jobs is read again now and then. Forms beside it are left alone.
function keepFresh(list, enhance) {
  const stop = () => clearTimeout(timer);
  const read = async () => {
    if (!list.isConnected) return;
    const text = document.hidden || list.contains(document.activeElement) ? "" : await readPage();
    const fresh = text && new DOMParser().parseFromString(text, "text/html").getElementById(list.id);
    if (!fresh || !list.isConnected) { timer = setTimeout(read, REFRESH_MS); return; }
    list.replaceWith(fresh);
    enhance(fresh);
    if ("refresh" in fresh.dataset) keepFresh(fresh, enhance);
  };
  let timer = setTimeout(read, REFRESH_MS);
  window.addEventListener("pagehide", stop, { once: true });
}

function follow(section, enhance) {
  const source = new EventSource(section.dataset.jobEvents);
  const stop = () => { source.close(); section.dataset.live = "no"; };
  const take = async (message) => {
    const event = JSON.parse(message.data);
    section.dataset.live = "yes";
    show(section, event);
    if (event.type !== "status_changed") return;
    if (OVER.includes(event.data?.status)) stop();
    const text = await readPage();
    if (text) replaceMain(text, enhance);
  };
  for (const type of TYPES) source.addEventListener(type, (message) => { if (message.data) take(message); });
  source.addEventListener("open", () => { section.dataset.live = "yes"; });
  source.addEventListener("error", () => { section.dataset.live = "no"; });
  window.addEventListener("pagehide", stop, { once: true });
  document.querySelector("main").addEventListener("gossamer:leave", stop, { once: true });
}

export function enhanceJobEvents(root, enhance) {
  for (const section of root.querySelectorAll("[data-job-events]")) follow(section, enhance);
  for (const list of root.querySelectorAll("[data-refresh]")) keepFresh(list, enhance);
}
