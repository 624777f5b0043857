// Runs in the page's own world before any of its scripts, and reports facts that are known only there: pending
// work, the value of `prerenderReady`, and errors. It answers an event whose name the page does not know. A page
// that manipulates the answer harms only its own rendering.
//
// It can also run the timers that are due next ahead of their time, for a page in which nothing else happens.
(name, answer, { soon, long, latest, deepest, together, exact, words, most, longest }) => {
  if (window.top !== window) return;
  const { stringify } = JSON;
  const now = performance.now.bind(performance);
  const setTimer = window.setTimeout.bind(window);
  const clearTimer = window.clearTimeout.bind(window);
  const Reply = CustomEvent;
  const reply = document.dispatchEvent.bind(document);
  const pending = new Set(); // timers that may add content
  const coming = new Set(); // those of them to wait for, and workers that have sent nothing yet
  const due = new Map(); // timers of any length, with the time when they run; an empty page waits for these too
  const pulses = new Set(); // intervals, and timers and idle callbacks that set each other endlessly
  const tried = new Set(); // pulses whose timers were all run early so far
  const awaited = new Map(); // timers that may be run early, with how
  const early = new Map(); // timers that are being run early, with those that do it
  const asked = new Map(); // how many messages each worker has not answered
  const observed = new Map(); // the observed elements of each IntersectionObserver
  const errors = [];
  const nothing = { depth: 0, hastened: 0, due: null };
  let running = nothing; // the timer or idle callback that runs now
  let ran = 0; // when one last ran that is no pulse
  let roots = 0; // calls that attach shadow roots
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
    for (const known of [pending, coming, due, pulses, tried, awaited, early]) known.delete(timer);
  };
  // Runs a callback. `depth` counts timers that set each other: beyond a few they are a pulse.
  const run = (callback, self, given, task) => {
    running = { ...task, depth: task.depth + 1 };
    if (task.depth < deepest && task.due === null) ran = now();
    try {
      return Reflect.apply(callback, self, given);
    } finally {
      running = nothing;
    }
  };
  wrap(window, "setTimeout", {
    apply(original, self, [callback, delay, ...rest]) {
      if (typeof callback !== "function") {
        return Reflect.apply(original, self, [callback, delay, ...rest]);
      }
      const at = now() + (Number(delay) || 0);
      // A callback that was run early and waits for the same moment again has looked at the clock.
      const again = running.due !== null && Math.abs(at - running.due) < exact;
      const task = { depth: again ? running.depth - 1 : running.depth, hastened: again ? 0 : running.hastened };
      const chained = task.depth >= deepest;
      const called = function (...given) {
        const hastened = early.has(timer);
        forget(timer);
        return run(callback, this, given, {
          depth: task.depth,
          hastened: hastened ? task.hastened + 1 : chained ? task.hastened : 0,
          due: hastened ? at : null,
        });
      };
      const timer = Reflect.apply(original, self, [called, delay, ...rest]);
      if (chained) pulses.add(timer);
      else due.set(timer, at);
      if (!(delay > soon)) {
        (chained && task.hastened >= deepest ? tried : pending).add(timer);
        if (!again && task.hastened < deepest) awaited.set(timer, { at, start: () => setTimer(called, 0, ...rest) });
      }
      if (!chained && !(delay > long)) coming.add(timer);
      return timer;
    },
  });
  const hasten = () => {
    let first = Infinity;
    for (const { at } of awaited.values()) first = Math.min(first, at);
    for (const [timer, { at, start }] of [...awaited]) {
      if (at > first + together) continue;
      awaited.delete(timer);
      clearTimer(timer);
      early.set(timer, start());
    }
  };
  wrap(window, "setInterval", {
    apply(original, self, given) {
      const timer = Reflect.apply(original, self, given);
      pulses.add(timer);
      return timer;
    },
  });
  const nameIdle = (handle) => `idle ${handle}`; // timers have the same numbers
  const isIdle = (each) => typeof each === "string";
  // While frames run on command, or a page is busy, the browser may find no idle time for seconds.
  wrap(window, "requestIdleCallback", {
    apply(original, self, [callback, wanted, ...rest]) {
      const options = { ...wanted, timeout: Math.min(wanted?.timeout || latest, latest) };
      const { depth } = running;
      const called = function (...given) {
        forget(idle);
        return run(callback, this, given, { ...nothing, depth });
      };
      const handle = Reflect.apply(original, self, [called, options, ...rest]);
      const idle = nameIdle(handle);
      (depth < deepest ? coming : pulses).add(idle);
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
    apply(original, self, [timer, ...rest]) {
      const set = early.get(timer) ?? timer;
      forget(timer);
      return Reflect.apply(original, self, [set, ...rest]);
    },
  };
  wrap(window, "clearTimeout", clearing);
  wrap(window, "clearInterval", clearing);
  for (const kind of ["Worker", "SharedWorker"]) {
    if (!window[kind]) continue;
    wrap(window, kind, {
      construct(original, given, self) {
        const worker = Reflect.construct(original, given, self);
        const heard = () => {
          coming.delete(worker);
          asked.set(worker, Math.max(0, asked.get(worker) - 1));
        };
        workers += 1;
        coming.add(worker);
        asked.set(worker, kind === "Worker" ? 0 : Infinity); // what a shared one is asked is not seen
        (worker.port ?? worker).addEventListener("message", heard);
        worker.addEventListener("error", heard, { once: true });
        return worker;
      },
    });
  }
  if (window.Worker) {
    wrap(Worker.prototype, "postMessage", {
      apply(original, self, given) {
        if (asked.has(self)) asked.set(self, asked.get(self) + 1);
        return Reflect.apply(original, self, given);
      },
    });
    wrap(Worker.prototype, "terminate", {
      apply(original, self, given) {
        asked.delete(self);
        coming.delete(self);
        return Reflect.apply(original, self, given);
      },
    });
  }
  const rooting = {
    apply(original, self, given) {
      roots += 1;
      return Reflect.apply(original, self, given);
    },
  };
  wrap(Element.prototype, "attachShadow", rooting);
  for (const { prototype } of [Element, ShadowRoot]) {
    if (prototype.setHTMLUnsafe) wrap(prototype, "setHTMLUnsafe", rooting);
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

  document.addEventListener(name, ({ detail: wanted }) => {
    if (wanted === "hasten") hasten();
    const ready = window.prerenderReady;
    const full = wanted === "all" && { due: Math.min(...due.values()) - now(), lowest: lowest() };
    const detail = stringify({
      ...full,
      pulse: pulses.size > 0 || workers > 0,
      coming: coming.size > 0,
      pending: pending.size > 0 || [...asked.values()].some(Boolean),
      tried: tried.size > 0,
      timers: workers > 0 || [...coming].some(isIdle) ? 0 : awaited.size,
      ran,
      roots,
      ready: typeof ready === "boolean" ? ready : null,
      errors,
    });
    reply(new Reply(answer, { detail }));
  });
}
