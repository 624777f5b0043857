// Puts the caret at the end of a field, and returns why it cannot. Runs in an isolated world.
(name, answer, selector) => {
  const untyped = ["button", "checkbox", "color", "file", "hidden", "image", "radio", "range", "reset", "submit"];
  const element = document.querySelector(selector);
  if (element === null) return "element_not_found";
  const isField = element instanceof HTMLTextAreaElement
    || (element instanceof HTMLInputElement && !untyped.includes(element.type));
  if (isField ? element.disabled || element.readOnly : !element.isContentEditable) return "not_editable";
  element.scrollIntoView({ block: "center", behavior: "instant" });
  if (element.getClientRects().length === 0) return "element_hidden";
  element.focus({ preventScroll: true });
  if (!isField) {
    getSelection().selectAllChildren(element);
    getSelection().collapseToEnd();
  } else {
    try {
      element.setSelectionRange(element.value.length, element.value.length);
    } catch {} // fields for numbers and dates have no caret that a script could move
  }
  return "";
}
