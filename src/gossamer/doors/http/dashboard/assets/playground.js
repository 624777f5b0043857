// The playground: an example fills the schema, and a result that is out of sight is shown.
function fill(select) {
  const target = document.getElementById(select.dataset.fills);
  const put = () => {
    const text = select.selectedOptions[0]?.dataset.text;
    if (text) target.value = text;
  };
  select.addEventListener("change", put);
  target.addEventListener("input", () => { select.value = ""; });
  if (!target.value) put();
}

export function enhancePlayground(root) {
  for (const select of root.querySelectorAll("select[data-fills]")) fill(select);
  const result = root.querySelector("[data-result]");
  // After the form was sent the page scrolls to its top, so this waits until that is done.
  if (result && root !== document) setTimeout(() => {
    if (result.getBoundingClientRect().top > window.innerHeight / 2) result.scrollIntoView({ block: "start" });
  });
}
