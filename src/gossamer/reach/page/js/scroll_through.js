// Scrolls through the page once, so that lazy parts begin to load, and waits for images and fonts. Lazy images may
// never load, so the caller waits for those by watching the network. Runs in an isolated world.
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
  const awaited = (image) => !image.complete && image.loading !== "lazy";
  const waiting = () => document.fonts.status === "loading" || [...document.images].some(awaited);
  while (waiting() && performance.now() < end) await pause(20);
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}
