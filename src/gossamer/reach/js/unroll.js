// Shows every part of the page once, so that what loads when it is seen is loaded, and waits for its pictures
// and fonts. Runs in a world of its own.
async (name, answer, tallest, milliseconds) => {
  const end = performance.now() + milliseconds;
  const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const root = document.scrollingElement ?? document.documentElement;
  if (tallest > 0) {
    const { scrollX, scrollY } = window;
    for (let y = 0; y < Math.min(root.scrollHeight, tallest) && performance.now() < end; y += window.innerHeight) {
      window.scrollTo({ top: y, behavior: "instant" });
      await pause(30);
    }
    window.scrollTo({ left: scrollX, top: scrollY, behavior: "instant" });
  }
  const waiting = () => document.fonts.status === "loading" || [...document.images].some((image) => !image.complete);
  while (waiting() && performance.now() < end) await pause(20);
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}
