// Measures how much the page shows, to tell a page from a shell that is still empty, and what may still fill it.
// Stops as soon as there are `enough` letters. Runs in an isolated world.
(name, answer, { enough, nodes, deepest, longest, mounts, loaders }) => {
  const unseen = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "TITLE", "HEAD", "IFRAME", "OBJECT", "TEXTAREA"]);
  const beside = new Set(["NAV", "HEADER", "FOOTER", "ASIDE", "SELECT", "BUTTON", "LABEL", "MENU", "DIALOG"]);
  const media = "img, svg, picture, video, canvas, iframe, frame, object, embed";
  const wide = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60]/g;
  const weight = (text) => text.length + 2 * (text.match(wide)?.length ?? 0);
  let left = nodes;

  // Counts the letters in `root`, and of those the ones outside of navigation and page edges.
  const read = (root, found = { all: 0, own: 0, said: [] }, aside = false, depth = 0) => {
    for (const node of root.childNodes) {
      if (depth > deepest || (left -= 1) < 0) found.own = enough; // too much of a page to be a shell
      if (found.own >= enough) break;
      if (node.nodeType === Node.TEXT_NODE) {
        const text = node.data.trim();
        if (!text) continue;
        found.all += weight(text);
        if (!aside) {
          found.own += weight(text);
          found.said.push(text.slice(0, longest));
        }
      } else if (node.nodeType === Node.ELEMENT_NODE && !unseen.has(node.tagName) && !hidden(node)) {
        const within = aside || beside.has(node.tagName);
        if (node.shadowRoot) read(node.shadowRoot, found, within, depth + 1);
        read(node, found, within, depth + 1);
      }
    }
    return found;
  };
  const hidden = (element) => element.hidden || getComputedStyle(element).display === "none";
  const visible = (element) => element.checkVisibility?.({ visibilityProperty: true, opacityProperty: true }) ?? true;
  const blank = (element) => !hidden(element) && read(element).all === 0 && !element.querySelector(media);

  let state = null;
  const listen = (event) => (state = JSON.parse(event.detail));
  document.addEventListener(answer, listen);
  document.dispatchEvent(new CustomEvent(name, { detail: "all" }));
  document.removeEventListener(answer, listen);
  const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);

  const shown = document.body ? read(document.body) : { all: 0, own: 0, said: [] };
  const full = shown.own >= enough;
  const mount = full ? null : document.querySelector(mounts);
  return {
    letters: shown.all,
    own: shown.own,
    said: full ? [] : shown.said,
    mounted: mount && read(mount).all,
    unfilled: !full && [...document.querySelectorAll("main, [role=main]")].some(blank),
    loader: !full && [...document.querySelectorAll(loaders)].some(visible),
    media: !full && document.querySelector(media) !== null,
    still: performance.now() - (globalThis.watch?.changed ?? 0),
    ready: state?.ready !== false,
    due: number(state?.due),
    pulse: state?.pulse === true,
    coming: state?.coming === true,
    lowest: number(state?.lowest) ?? 0,
  };
}
