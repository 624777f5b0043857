// Runs in the page's own world before any of its scripts, and reports facts that are known only there: pending
// work, the value of `prerenderReady`, and errors. It answers an event whose name the page does not know. A page
// that manipulates the answer harms only its own rendering.
(name, answer, { soon, long, latest, deepest, words, most, longest }) => {
  if (window.top !== window) return;
  const { stringify } = JSON;
  const Reply = CustomEvent;
  const reply = document.dispatchEvent.bind(document);
  const pending = new Set(); // timers that may add content
  const coming = new Set(); // those of them to wait for, and workers that have sent nothing yet
  const due = new Map(); // timers of any length, with the time when they run; an empty page waits for these too
  const pulses = new Set(); // intervals, and timers and idle callbacks that set each other endlessly
  const observed = new Map(); // the observed elements of each IntersectionObserver
  const errors = [];
  let depth = 0; // of timers set by timers; beyond a few they count as a pulse
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

  // Proxies look like the originals, even to code that reads the source of a function.
  const wrap = (owner, method, handler) => {
    owner[method] = new Proxy(owner[method], handler);
  };
  const forget = (timer) => {
    for (const known of [pending, coming, due, pulses]) known.delete(timer);
  };
  wrap(window, "setTimeout", {
    apply(original, self, [callback, delay, ...rest]) {
      if (typeof callback !== "function") {
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
      if (own < deepest) due.set(timer, performance.now() + (Number(delay) || 0));
      else pulses.add(timer);
      if (!(delay > soon)) pending.add(timer);
      if (own < deepest && !(delay > long)) coming.add(timer);
      return timer;
    },
  });
  wrap(window, "setInterval", {
    apply(original, self, given) {
      const timer = Reflect.apply(original, self, given);
      pulses.add(timer);
      return timer;
    },
  });
  const nameIdle = (handle) => `idle ${handle}`; // timers have the same numbers
  // While frames run on command, or a page is busy, the browser may find no idle time for seconds.
  wrap(window, "requestIdleCallback", {
    apply(original, self, [callback, asked, ...rest]) {
      const options = { ...asked, timeout: Math.min(asked?.timeout || latest, latest) };
      const own = depth;
      const called = function (...given) {
        forget(idle);
        depth = own + 1;
        try {
          return Reflect.apply(callback, this, given);
        } finally {
          depth = 0;
        }
      };
      const handle = Reflect.apply(original, self, [called, options, ...rest]);
      const idle = nameIdle(handle);
      (own < deepest ? coming : pulses).add(idle);
      return handle;
    },
  });
  wrap(window, "cancelIdleCallback", {
    apply(original, self, given) {
      forget(nameIdle(given[0]));
      return Reflect.apply(original, self, given);
    },
  });
  const clearing = {
    apply(original, self, given) {
      forget(given[0]);
      return Reflect.apply(original, self, given);
    },
  };
  wrap(window, "clearTimeout", clearing);
  wrap(window, "clearInterval", clearing);
  for (const kind of ["Worker", "SharedWorker"]) {
    if (!window[kind]) continue;
    wrap(window, kind, {
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
  const { prototype } = IntersectionObserver;
  wrap(prototype, "observe", {
    apply(original, self, given) {
      if (!observed.has(self)) observed.set(self, new Set());
      observed.get(self).add(given[0]);
      return Reflect.apply(original, self, given);
    },
  });
  wrap(prototype, "unobserve", {
    apply(original, self, given) {
      observed.get(self)?.delete(given[0]);
      return Reflect.apply(original, self, given);
    },
  });
  wrap(prototype, "disconnect", {
    apply(original, self, given) {
      observed.delete(self);
      return Reflect.apply(original, self, given);
    },
  });
  // Returns how far down an element waits to be seen before it is filled. An element with enough text is already
  // filled. Observed headings only serve a table of contents, and images have no text.
  const unread = /^(a|iframe|img|picture|video)$/i;
  const heading = /^h[1-6]$/i;
  const waits = (target) => {
    if (unread.test(target.tagName)) return false;
    const letters = target.textContent.trim().length;
    return heading.test(target.tagName) ? letters === 0 : letters < words;
  };
  const lowest = () => {
    let low = 0;
    for (const targets of observed.values()) {
      for (const target of targets) {
        if (!waits(target)) continue;
        const { bottom } = target.getBoundingClientRect();
        if (bottom > innerHeight) low = Math.max(low, bottom + scrollY);
      }
    }
    return Math.ceil(low);
  };
  wrap(window, "open", { apply: () => null }); // pop-ups are not opened
  wrap(console, "error", {
    apply(original, self, given) {
      note(...given);
      return Reflect.apply(original, self, given);
    },
  });
  window.addEventListener("error", (event) => {
    if (event instanceof ErrorEvent) note(event.message);
  });
  window.addEventListener("unhandledrejection", (event) => note("Unhandled rejection:", event.reason));

  document.addEventListener(name, ({ detail: asked }) => {
    const ready = window.prerenderReady;
    const full = asked === "all" && { due: Math.min(...due.values()) - performance.now(), lowest: lowest() };
    const detail = stringify({
      ...full,
      pulse: pulses.size > 0 || workers > 0,
      coming: coming.size > 0,
      pending: pending.size > 0 || workers > 0,
      ready: typeof ready === "boolean" ? ready : null,
      errors,
    });
    reply(new Reply(answer, { detail }));
  });
}
