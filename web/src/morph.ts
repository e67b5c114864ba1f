// Brings one tree of elements to the state of another, keeping the nodes that are there: so what a reader has opened,
// scrolled or focused stays while a live report changes around it. An element with `data-own` looks after itself.

export function morph(now: Element, next: Element): void {
  if (own(now) !== undefined && own(now) === own(next)) return;
  morphAttributes(now, next);
  morphChildren(now, next);
}

/** The children alone. */
export function morphChildren(now: Element, next: Element): void {
  const wanted = [...next.childNodes];
  for (const [index, child] of wanted.entries()) morphChild(now, child, index);
  while (now.childNodes.length > wanted.length) now.lastChild?.remove();
}

function morphChild(now: Element, child: Node, index: number): void {
  const here = now.childNodes[index];
  // What has a name is found wherever it stands: a section that is new before it must not take its place.
  const same =
    child instanceof Element && named(child)
      ? [...now.children].find((other) => alike(other, child))
      : undefined;
  if (same !== undefined && same !== here) now.insertBefore(same, here ?? null);
  const there = same ?? here;
  if (there === undefined) now.append(child);
  else if (there instanceof Element && child instanceof Element && alike(there, child)) morph(there, child);
  else if (there.nodeType === Node.TEXT_NODE && child.nodeType === Node.TEXT_NODE) {
    if (there.textContent !== child.textContent) there.textContent = child.textContent;
  } else if (there instanceof Element && named(there)) now.insertBefore(child, there);
  else now.replaceChild(child, there);
}

function named(element: Element): boolean {
  return element.id !== "" || own(element) !== undefined;
}

function own(element: Element): string | undefined {
  return element instanceof HTMLElement ? element.dataset.own : undefined;
}

/** Whether one can become the other: the same kind of element, and the same one where it has a name. */
function alike(a: Element, b: Element): boolean {
  return a.nodeName === b.nodeName && a.id === b.id && own(a) === own(b);
}

function morphAttributes(now: Element, next: Element): void {
  for (const { name, value } of next.attributes) {
    // What is open was opened by the reader, and what is not was closed.
    if (name === "open" || now.getAttribute(name) === value) continue;
    // The page's policy forbids styles in attributes; set as properties they are the page's own.
    if (name === "style" && (now instanceof HTMLElement || now instanceof SVGElement))
      now.style.cssText = value;
    else now.setAttribute(name, value);
  }
  for (const { name } of [...now.attributes]) {
    if (name !== "open" && !next.hasAttribute(name)) now.removeAttribute(name);
  }
}
