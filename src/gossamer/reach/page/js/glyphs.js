// Returns the scripts whose letters are shown as boxes, because no font has them: in the visible text of the page,
// with its fonts, or in a given text. Runs in an isolated world.
(name, answer, scripts, given, { nodes, letters, each }) => {
  const patterns = scripts.map((script) => [
    script,
    new RegExp(script === "Emoji" ? "\\p{Emoji_Presentation}" : `\\p{Script=${script}}`, "u"),
  ]);
  const foreign = /(?!\p{Script=Latin})[\p{L}\p{Emoji_Presentation}]/gu;
  const scriptOf = (letter) => patterns.find(([, pattern]) => pattern.test(letter))?.[0];

  // Each letter, with an element that shows it.
  const shown = new Map();
  const note = (text, element) => {
    for (const [letter] of text.matchAll(foreign)) {
      if (shown.size >= letters) return;
      if (!shown.has(letter)) shown.set(letter, element);
    }
  };
  let left = nodes;
  const walk = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && left > 0 && shown.size < letters; node = walker.nextNode()) {
      left -= 1;
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.shadowRoot) walk(node.shadowRoot);
      } else if (/[^\0-\u024f]/.test(node.data)) {
        const element = node.parentElement ?? root.host;
        if (element?.checkVisibility({ visibilityProperty: true })) note(node.data, element);
      }
    }
  };
  if (given === null) walk(document);
  else note(given, null);

  // A letter that looks like a code point without a character is missing.
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 48;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const picture = (letter, font) => {
    pen.clearRect(0, 0, 48, 48);
    pen.font = font;
    pen.fillText(letter, 8, 34);
    return new Uint32Array(pen.getImageData(0, 0, 48, 48).data.buffer);
  };
  const boxes = new Map();
  const box = (font) => boxes.get(font) ?? boxes.set(font, picture("\u0378", font)).get(font);
  const fontOf = (element) => {
    if (element === null) return "24px sans-serif";
    const style = getComputedStyle(element);
    return `${style.fontStyle} ${style.fontWeight} 24px ${style.fontFamily}`;
  };
  const isMissing = (letter, font) => {
    const expected = box(font);
    return picture(letter, font).every((pixel, at) => pixel === expected[at]);
  };

  const looked = new Map();
  const missing = new Set();
  for (const [letter, element] of shown) {
    const script = scriptOf(letter);
    const times = looked.get(script) ?? 0;
    if (script === undefined || missing.has(script) || times >= each) continue;
    looked.set(script, times + 1);
    if (isMissing(letter, fontOf(element))) missing.add(script);
  }
  return scripts.filter((script) => missing.has(script));
}
