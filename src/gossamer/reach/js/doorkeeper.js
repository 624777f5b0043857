// Runs in the page's own world before any of its scripts, and answers what can only be known there: whether
// work is still to come, what `prerenderReady` says, and which errors there were. It speaks when it is asked by
// an event whose name the page does not know; a page that lies about itself harms only its own rendering.
(name, answer, { soon, long, deepest, most, longest }) => {
  if (window.top !== window) return;
  const { stringify } = JSON;
  const Told = CustomEvent;
  const tell = document.dispatchEvent.bind(document);
  const pending = new Set(); // timers that may bring something
  const coming = new Set(); // those of them that are worth waiting for, and workers that have not said a word
  const errors = [];
  let depth = 0; // timers that were set by timers; beyond a few, it is a pulse and not a plan
  let workers = 0;

  const note = (...parts) => {
    if (errors.length >= most) return;
    const words = parts.map((part) => {
      try {
        return part instanceof Error ? `${part.name}: ${part.message}` : String(part);
      } catch {
        return "(something that cannot be told)";
      }
    });
    errors.push(words.join(" ").slice(0, longest).toWellFormed());
  };

  // Proxies look like what they stand for, also to code that asks a function for its source.
  const stand = (owner, method, handler) => {
    owner[method] = new Proxy(owner[method], handler);
  };
  const forget = (timer) => {
    pending.delete(timer);
    coming.delete(timer);
  };
  stand(window, "setTimeout", {
    apply(original, self, [callback, delay, ...rest]) {
      if (typeof callback !== "function" || delay > soon) {
        return Reflect.apply(original, self, [callback, delay, ...rest]);
      }
      const own = depth;
      const called = function (...given) {
        forget(timer);
        depth = own + 1;
        try {
          return Reflect.apply(callback, this, given);
        } finally {
          depth = 0;
        }
      };
      const timer = Reflect.apply(original, self, [called, delay, ...rest]);
      pending.add(timer);
      if (own < deepest && !(delay > long)) coming.add(timer);
      return timer;
    },
  });
  const clearing = {
    apply(original, self, given) {
      forget(given[0]);
      return Reflect.apply(original, self, given);
    },
  };
  stand(window, "clearTimeout", clearing);
  stand(window, "clearInterval", clearing);
  for (const kind of ["Worker", "SharedWorker"]) {
    if (!window[kind]) continue;
    stand(window, kind, {
      construct(original, given, self) {
        const worker = Reflect.construct(original, given, self);
        const heard = () => coming.delete(worker);
        workers += 1;
        coming.add(worker);
        (worker.port ?? worker).addEventListener("message", heard, { once: true });
        worker.addEventListener("error", heard, { once: true });
        return worker;
      },
    });
  }
  stand(window, "open", { apply: () => null }); // nobody is there to look at another window
  stand(console, "error", {
    apply(original, self, given) {
      note(...given);
      return Reflect.apply(original, self, given);
    },
  });
  window.addEventListener("error", (event) => {
    if (event instanceof ErrorEvent) note(event.message);
  });
  window.addEventListener("unhandledrejection", (event) => note("Unhandled rejection:", event.reason));

  document.addEventListener(name, () => {
    const ready = window.prerenderReady;
    const detail = stringify({
      coming: coming.size > 0,
      pending: pending.size > 0 || workers > 0,
      ready: typeof ready === "boolean" ? ready : null,
      errors,
    });
    tell(new Told(answer, { detail }));
  });
}
