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
