// Buttons that copy the text beside them.
export function announce(text) {
  const line = document.querySelector("[data-announce]");
  if (line) line.textContent = text;
}

async function copy(text, source) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Only secure origins have a clipboard: select the text and ask the document.
    const range = document.createRange();
    range.selectNodeContents(source);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    document.execCommand("copy");
  }
}

export function enhanceCopy(root) {
  for (const button of root.querySelectorAll("[data-copy]")) {
    const source = button.closest(".copyable").querySelector("code");
    const label = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy(source.textContent, source);
      button.textContent = "Copied";
      announce("Copied.");
      setTimeout(() => { button.textContent = label; }, 2000);
    });
  }
}
