// Brings a page to life. Without it every page works: forms post, links lead on, times are in UTC.
import { enhanceCopy } from "./copy.js";
import { enhanceCrawl } from "./crawl.js";
import { enhanceForms } from "./forms.js";
import { enhanceJobEvents } from "./job_events.js";
import { enhanceLive } from "./live.js";
import { enhanceOverview } from "./overview.js";
import { enhancePlayground } from "./playground.js";
import { enhanceTables } from "./tables.js";
import { enhanceTabs } from "./tabs.js";
import { enhanceTimes } from "./formats.js";

export function enhance(root) {
  enhanceTimes(root);
  enhanceCopy(root);
  enhanceTables(root);
  enhanceTabs(root);
  enhancePlayground(root);
  enhanceOverview(root);
  enhanceForms(root, enhance);
  enhanceCrawl(root);
  enhanceLive(root, enhance);
  enhanceJobEvents(root, enhance);
}

function keepMenuOpen() {
  const menu = document.querySelector("[data-menu]");
  const wide = window.matchMedia("(min-width: 60rem)");
  const follow = () => { if (menu) menu.open = wide.matches; };
  follow();
  wide.addEventListener("change", follow);
}

keepMenuOpen();
enhance(document);
