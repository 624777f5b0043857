// Ends animations and hides the caret, so that the page looks the same in every capture. Runs in an isolated
// world.
() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, ::before, ::after { caret-color: transparent !important }");
  const end = (animation) => {
    if (animation.timeline !== document.timeline) return; // it follows the scroll position
    try {
      if (Number.isFinite(animation.effect?.getComputedTiming().endTime)) animation.finish();
      else animation.cancel();
    } catch {} // it has no end, or runs backwards from it
  };
  const still = (root) => {
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    root.getAnimations().forEach(end);
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) still(element.shadowRoot);
    }
  };
  still(document);
}
