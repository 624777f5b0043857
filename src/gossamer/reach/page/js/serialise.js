// Returns the current document, with shadow roots in declarative form. Runs in an isolated world.
(name, answer, longest) => {
  const roots = [];
  const gather = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) {
        roots.push(element.shadowRoot);
        gather(element.shadowRoot);
      }
    }
  };
  gather(document);

  const written = (root) => {
    if (!(root instanceof HTMLElement)) return new XMLSerializer().serializeToString(root);
    if (roots.length === 0) return root.outerHTML;
    const [start] = root.cloneNode(false).outerHTML.split(/<\/html>$/i);
    return `${start}${root.getHTML({ shadowRoots: roots, serializableShadowRoots: true })}</html>`;
  };
  const type = document.doctype ? `${new XMLSerializer().serializeToString(document.doctype)}\n` : "";
  const root = document.documentElement;
  const html = root ? type + written(root) : "";

  let state = null;
  const listen = (event) => (state = JSON.parse(event.detail));
  document.addEventListener(answer, listen);
  document.dispatchEvent(new Event(name));
  document.removeEventListener(answer, listen);

  return {
    html: html.length <= longest ? html.toWellFormed() : "",
    length: html.length,
    url: document.URL,
    errors: Array.isArray(state?.errors) ? state.errors.filter((line) => typeof line === "string") : [],
  };
}
