// Resolves when the page is done, with the condition that held. With `immediate` it resolves at once. Runs in an
// isolated world.
async (name, answer, { selector, calm, plain, immediate, ...bounds }) => {
  const now = () => performance.now();
  const watch = (globalThis.watch ??= (() => {
    const state = { changed: now(), roots: new WeakSet() };
    const times = new WeakMap();
    // An element that is replaced again and again, and does not grow, is a clock or a carousel.
    const matters = ({ target, addedNodes, removedNodes }) => {
      if (addedNodes.length > removedNodes.length) return true;
      times.set(target, (times.get(target) ?? 0) + 1);
      return times.get(target) <= bounds.replaced;
    };
    const observer = new MutationObserver((records) => {
      if (records.some(matters)) state.changed = now();
    });
    const filter = ["alt", "content", "hidden", "href", "src", "title"];
    state.observe = (root) => {
      if (state.roots.has(root)) return;
      state.roots.add(root);
      state.changed = now();
      observer.observe(root, { subtree: true, childList: true, characterData: true, attributeFilter: filter });
    };
    state.observe(document);
    return state;
  })());

  const askState = () => {
    let state = null;
    const listen = (event) => (state = JSON.parse(event.detail));
    document.addEventListener(answer, listen);
    document.dispatchEvent(new Event(name));
    document.removeEventListener(answer, listen);
    // There is no answer if no script ever ran, or if one has rewritten the document.
    return typeof state?.pending === "boolean" ? state : { pending: null, ready: null };
  };
  // An observer of the document does not see changes inside shadow roots.
  const look = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) {
        watch.observe(element.shadowRoot);
        look(element.shadowRoot);
      }
    }
  };
  const moving = () =>
    document.getAnimations().some((animation) => {
      const left = animation.effect?.getComputedTiming().endTime - animation.currentTime;
      return animation.playState === "running" && left > 0 && left <= bounds.soon;
    });
  const scripted = () =>
    document.querySelector(
      "script:not([type]), script[type=''], script[type=module], script[type*=javascript], [onload], [onerror]",
    ) !== null;

  const began = now();
  let worked = began; // when the page last blocked its thread
  let looked = -Infinity;
  let moved = -Infinity; // when an animation was last seen: its end is an event, which comes with the next frame
  for (;;) {
    if (selector !== null) {
      if (document.querySelector(selector)) return "selector";
    } else {
      const state = askState();
      if (state.ready === true) return "ready";
      if (immediate) return state.ready === null ? "silent" : "unready";
      if (state.ready === null) {
        if (calm && plain && !state.pending && !scripted()) return "static";
        if (now() - looked > bounds.short / 2) {
          look(document);
          looked = now();
        }
        const still = now() - Math.max(watch.changed, began);
        if (moving()) moved = now();
        const resting = calm && state.pending === false && now() - moved >= bounds.short;
        const enough = resting ? bounds.short : bounds.long;
        const awaited = state.coming && now() - began < bounds.patience;
        if (still >= enough && !awaited) return "quiet";
        if (now() - worked >= bounds.restless) return "restless";
      }
    }
    const before = now();
    await new Promise((resolve) => setTimeout(resolve, bounds.tick));
    // If our timer is late, the thread is busy with the page.
    if (now() - before > 3 * bounds.tick) worked = watch.changed = now();
  }
}
