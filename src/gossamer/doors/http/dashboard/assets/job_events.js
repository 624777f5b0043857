// Follows a job: its progress and its timeline. When its state changes, the page is read again.
//   <div data-job-events="/api/jobs/…/events?after=2" data-job-queued="2026-…Z">
//     <progress data-job-progress>  <span data-job-percent>  <span data-job-step>  <ol data-job-timeline>
import { write } from "./formats.js";
import { replaceMain } from "./forms.js";

const TYPES = ["status_changed", "step_started", "step_done", "warning", "error", "metric"];
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

function show(section, event) {
  const list = section.querySelector("[data-job-timeline]");
  if (list) addToTimeline(list, event, section.dataset.jobQueued);
  const step = section.querySelector("[data-job-step]");
  if (step && event.type !== "status_changed") step.textContent = event.message;
  if (event.progress === null) return;
  for (const bar of section.querySelectorAll("[data-job-progress]")) bar.value = event.progress;
  for (const text of section.querySelectorAll("[data-job-percent]")) text.textContent = `${event.progress} %`;
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
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.ok) replaceMain(await answer.text(), enhance);
  };
  for (const type of TYPES) source.addEventListener(type, (message) => { if (message.data) take(message); });
  source.addEventListener("open", () => { section.dataset.live = "yes"; });
  source.addEventListener("error", () => { section.dataset.live = "no"; });
  window.addEventListener("pagehide", stop, { once: true });
  document.querySelector("main").addEventListener("gossamer:leave", stop, { once: true });
}

export function enhanceJobEvents(root, enhance) {
  for (const section of root.querySelectorAll("[data-job-events]")) follow(section, enhance);
}
