// Returns whether an element is there: nothing, or why not. Runs in an isolated world.
(name, answer, selector) => (document.querySelector(selector) === null ? "element_not_found" : "")
