// Runs a script of the caller's in the page's own world. Returns its value as JSON after "=", "" for none, or why
// there is none: a fault after "!", an error of the script after "?". It is always a string of bounded length,
// so that neither the page nor the script can make the browser send more.
async (source, longest, longestError) => {
  let value;
  try {
    value = await (0, eval)(source);
  } catch (error) {
    try {
      return `?${String(error).slice(0, longestError)}`;
    } catch {
      return "?";
    }
  }
  if (value === undefined) return "";
  let text;
  try {
    text = JSON.stringify(value);
  } catch {}
  if (typeof text !== "string") return "!result_not_json";
  return text.length > longest ? "!result_too_large" : `=${text}`;
}
