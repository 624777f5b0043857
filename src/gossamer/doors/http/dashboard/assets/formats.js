// Values as the pages write them: twins of core/formats.py.
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];
const grouped = (value, digits) => value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const formats = {
  number: (value) => grouped(value, Number.isInteger(value) ? 0 : 1),
  rate: (value) => `${grouped(value, value < 10 && value > 0 ? 1 : 0)}/s`,
  percent: (value) => `${grouped(value * 100, 1)} %`,
  size(value) {
    let unit = 0;
    while (value >= 1000 && unit < UNITS.length - 1) { value /= 1000; unit += 1; }
    return `${unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${UNITS[unit]}`;
  },
  duration(ms) {
    if (ms < 1000) return `${Math.round(ms)} ms`;
    const seconds = ms / 1000;
    if (seconds < 60) return `${seconds.toFixed(1)} s`;
    const minutes = Math.floor(seconds / 60);
    if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
    const hours = Math.floor(minutes / 60);
    return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
  },
  text: (value) => String(value),
};

export function write(value, format) {
  if (value === null || value === undefined) return "–";
  return (formats[format] ?? formats.text)(value);
}

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
