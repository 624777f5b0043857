// Sends forms without leaving the page. The answer is the page itself, so only <main> is replaced.
// Nothing typed is lost: not by a double click, a lost connection, a lost session or a refusal.
import { announce } from "./copy.js";

const HEADERS = { Accept: "text/html", "X-Requested-With": "fetch" };

export function token() {
  return document.querySelector('meta[name="csrf-token"]')?.content ?? "";
}

export async function refreshToken() {
  const answer = await fetch("/api/me", { headers: { Accept: "application/json" } });
  if (!answer.ok) return false;
  const { csrfToken } = await answer.json();
  const meta = document.querySelector('meta[name="csrf-token"]');
  if (!csrfToken || !meta) return false;
  meta.content = csrfToken;
  for (const input of document.querySelectorAll('input[name="csrf"]')) input.value = csrfToken;
  return true;
}

export function showProblem(form, title, detail, hint = "") {
  form.parentElement.querySelector("[data-problem-local]")?.remove();
  const box = document.createElement("div");
  box.className = "problem";
  box.setAttribute("role", "alert");
  box.dataset.problemLocal = "";
  for (const [text, name] of [[title, "problem-title"], [detail, ""], [hint, "hint"]]) {
    if (!text) continue;
    const line = document.createElement("p");
    line.className = name;
    line.textContent = text;
    box.append(line);
  }
  form.before(box);
  box.scrollIntoView({ block: "nearest" });
}

// A refusal that is a page of its own, such as a limit's, is shown beside the form instead: what was typed stays.
function showRefusal(form, text) {
  const main = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  const box = main?.querySelector("[data-problem]");
  if (!box || main.querySelector("form")) return false;
  form.parentElement.querySelector("[data-problem-local]")?.remove();
  box.dataset.problemLocal = "";
  form.before(box);
  box.focus();
  announce(box.textContent.trim());
  return true;
}

export function replaceMain(text, enhance) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const main = page.querySelector("main");
  if (!main) return false;
  const old = document.querySelector("main");
  old.dispatchEvent(new CustomEvent("gossamer:leave"));
  old.replaceWith(main);
  document.title = page.title;
  const fresh = page.querySelector('meta[name="csrf-token"]')?.content;
  const meta = document.querySelector('meta[name="csrf-token"]');
  if (fresh && meta) meta.content = fresh;
  document.body.className = page.body.className;
  enhance(main);
  return true;
}

async function post(form, submitter) {
  const body = new URLSearchParams(new FormData(form, submitter));
  return fetch(submitter?.formAction || form.action, { method: "POST", body, headers: HEADERS, redirect: "follow" });
}

async function send(form, submitter, enhance) {
  let answer;
  try {
    answer = await post(form, submitter);
    if (answer.status === 403 && (await refreshToken())) answer = await post(form, submitter);
  } catch {
    showProblem(form, "The server cannot be reached", "Nothing was sent, and nothing you typed is lost.", "Try again in a moment.");
    return;
  }
  if (answer.status === 401) {
    showProblem(form, "Your session has ended", "Nothing you typed is lost.", "Sign in on another tab, then send the form again.");
    const link = document.createElement("a");
    link.href = "/app/sign-in";
    link.target = "_blank";
    link.rel = "opener";
    link.textContent = "Sign in";
    form.parentElement.querySelector("[data-problem-local]").append(link);
    return;
  }
  const text = await answer.text();
  if (!answer.ok && showRefusal(form, text)) return;
  if (answer.redirected) history.pushState({}, "", answer.url);
  if (!replaceMain(text, enhance)) { location.reload(); return; }
  const main = document.querySelector("main");
  (main.querySelector("[data-problem]") ?? main).focus({ preventScroll: false });
  window.scrollTo({ top: 0 });
  announce(main.querySelector("[data-problem], .notice")?.textContent.trim() ?? document.title);
}

export function enhanceForms(root, enhance) {
  for (const form of root.querySelectorAll('form[method="post"]:not([data-plain])')) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (form.dataset.sending) return;
      const question = event.submitter?.dataset.confirm ?? form.dataset.confirm;
      if (question && !window.confirm(question)) return;
      form.dataset.sending = "yes";
      form.setAttribute("aria-busy", "true");
      try {
        await send(form, event.submitter, enhance);
      } finally {
        delete form.dataset.sending;
        form.removeAttribute("aria-busy");
      }
    });
  }
  for (const form of root.querySelectorAll("form[data-plain]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sending) event.preventDefault();
      form.dataset.sending = "yes";
    });
  }
  for (const control of root.querySelectorAll("form[data-auto] select, form[data-auto] input[type=checkbox]")) {
    control.addEventListener("change", () => control.form.requestSubmit());
  }
}

window.addEventListener("popstate", () => location.reload());
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sending]")) delete form.dataset.sending;
});
