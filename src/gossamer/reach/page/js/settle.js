// Resolves when the page is done, with the condition that held. With `immediate` it resolves at once. The network
// has been quiet for `quiet` milliseconds. With `hasten` it resolves with `due` when nothing happens until a timer or
// the end of an animation; with `step` it first brings about the next of those. Runs in an isolated world.
async (name, answer, { selector, calm, plain, immediate, quiet, hasten, step, ...bounds }) => {
  const now = () => performance.now();
  const watch = (globalThis.watch ??= (() => {
    const state = {
      changed: now(),
      roots: new WeakSet(),
      looked: -Infinity, // when shadow roots were last looked for
      moved: -Infinity, // when an animation was last seen: its end is an event, which comes with the next frame
      stepped: -Infinity, // when a timer or an animation was last hastened
      steps: 0, // how often that was
      vain: 0, // and for timers, how often in a row without a change of the document
    };
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

  const askState = (detail) => {
    let state = null;
    const listen = (event) => (state = JSON.parse(event.detail));
    document.addEventListener(answer, listen);
    document.dispatchEvent(new CustomEvent(name, { detail }));
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
    document.getAnimations().filter((animation) => {
      const left = animation.effect?.getComputedTiming().endTime - animation.currentTime;
      return animation.playState === "running" && left > 0 && left <= bounds.soon;
    });
  const scripted = () =>
    document.querySelector(
      "script:not([type]), script[type=''], script[type=module], script[type*=javascript], [onload], [onerror]",
    ) !== null;

  // Resolves after a frame that runs what the timers asked for that are due now; a page that is not shown has none.
  const frame = () =>
    new Promise((resolve) => {
      setTimeout(() => requestAnimationFrame(() => setTimeout(resolve)));
      setTimeout(resolve, bounds.long);
    });
  if (step) {
    const animations = moving();
    for (const animation of animations) animation.finish();
    if (animations.length === 0) {
      watch.vain = watch.changed > watch.stepped ? 1 : watch.vain + 1;
      askState("hasten");
    }
    watch.steps += 1;
    watch.stepped = now();
    await frame();
  }

  const began = now();
  let worked = began; // when the page last blocked its thread
  for (;;) {
    if (selector !== null) {
      if (document.querySelector(selector)) return "selector";
    } else {
      const state = askState();
      if (state.ready === true) return "ready";
      if (immediate) return state.ready === null ? "silent" : "unready";
      if (state.ready === null) {
        if (calm && plain && !state.pending && !scripted()) return "static";
        const shadowed = state.roots !== 0 && watch.changed >= watch.looked;
        if ((shadowed || watch.looked < 0) && now() - watch.looked > bounds.short / 2) {
          look(document);
          watch.looked = now();
        }
        const still = now() - Math.max(watch.changed, began - quiet);
        const ran = state.ran ?? -Infinity;
        const animated = still > bounds.tick && moving().length > 0; // while it changes, this would cost layouts
        if (animated) watch.moved = now();
        const vain = watch.changed > watch.stepped ? 0 : watch.vain;
        const pending = state.pending !== false || (state.tried && vain < bounds.deepest);
        const resting = calm && !pending && now() - watch.moved >= bounds.short;
        const enough =
          still >= bounds.long
            ? now() - watch.stepped >= bounds.short
            : resting && still >= bounds.short && now() - Math.max(watch.stepped, ran) >= bounds.short;
        const left = watch.steps < bounds.steps; // else it goes on like this, in a loop that is not seen as a pulse
        const awaited = state.coming && left && now() - began < bounds.patience;
        if (enough && !awaited) return "quiet";
        if (now() - worked >= bounds.restless) return "restless";
        const due = (animated || state.timers > 0) && left;
        if (hasten && due && calm && Math.min(still, now() - ran) >= bounds.short) return "due";
      }
    }
    const before = now();
    await new Promise((resolve) => setTimeout(resolve, bounds.tick));
    // If our timer is late, the thread is busy with the page.
    if (now() - before > 3 * bounds.tick) worked = watch.changed = now();
  }
}
