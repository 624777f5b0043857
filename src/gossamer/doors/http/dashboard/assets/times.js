// Times in the reader's zone; how long ago stands in the title.
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const short = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const STEPS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

export function ago(date, now = Date.now()) {
  const seconds = (date.getTime() - now) / 1000;
  const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
  return relative.format(Math.round(seconds / size), unit);
}

export function enhanceTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const date = new Date(element.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    element.textContent = "ago" in element.dataset ? ago(date) : short.format(date);
    element.title = "ago" in element.dataset ? exact.format(date) : `${exact.format(date)} (${ago(date)})`;
  }
}
