// Chooses an option by its value, else by its text, and returns why it cannot. Runs in an isolated world.
(name, answer, selector, wanted) => {
  const element = document.querySelector(selector);
  if (element === null) return "element_not_found";
  if (!(element instanceof HTMLSelectElement)) return "not_a_select";
  const options = [...element.options].filter((option) => !option.disabled);
  const plain = (text) => text.trim().replace(/\s+/g, " ");
  const option = options.find((one) => one.value === wanted) ?? options.find((one) => plain(one.text) === plain(wanted));
  if (element.disabled || option === undefined) return "option_not_found";
  element.focus({ preventScroll: true });
  option.selected = true;
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
  return "";
}
