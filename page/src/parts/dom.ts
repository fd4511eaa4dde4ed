type Handler = (event: never) => void;
type Properties = Record<string, string | number | boolean | null | undefined | Handler>;
type Child = Node | string | null | undefined | false;

/** An element: names that begin with "on" are handlers, the rest attributes (false and null: none). Text is never read as HTML. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Properties = {}, ...children: (Child | Child[])[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return element;
}

/** The browser's own: it enlarges, goes back, and so on. */
export function isShortcut({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey;
}

/** Other content; what has the focus keeps it, by its name. */
export function replaceContent(holder: HTMLElement, content: Node[]): void {
  const focused = holder.contains(document.activeElement) && document.activeElement?.getAttribute("name");
  holder.replaceChildren(...content);
  if (focused) [...holder.querySelectorAll<HTMLElement>("[name]")].find((one) => one.getAttribute("name") === focused)?.focus();
}

/** What colours mean. */
export function legend(entries: readonly (readonly [colour: string, text: string])[]): HTMLUListElement {
  return h("ul", { class: "legend" }, entries.map(([colour, text]) => h("li", { "data-colour": colour }, h("span", { class: `swatch ${colour}` }), text)));
}

/** Boxes to tick, behind a button. */
export function menu(title: string, content: () => Child[]): HTMLDetailsElement {
  const box = h("div", { class: "menu" });
  const details = h("details", { class: "menu-holder", ontoggle: () => details.open && box.replaceChildren(...(content().filter(Boolean) as Node[])) },
    h("summary", {}, title), box);
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    details.querySelector("summary")!.focus();
    event.stopPropagation();
  });
  return details;
}

// One for all menus: those that are gone need none.
document.addEventListener("pointerdown", (event) => {
  for (const one of document.querySelectorAll<HTMLDetailsElement>(".menu-holder[open]")) if (!one.contains(event.target as Node)) one.open = false;
});

export function checkbox(text: string, checked: boolean, change: (checked: boolean) => void): HTMLLabelElement {
  const input = h("input", { type: "checkbox", name: text, checked, onchange: () => change(input.checked) });
  return h("label", {}, input, " ", text);
}

export function select(label: string, options: [value: string, text: string][], value: string, change: (value: string) => void): HTMLLabelElement {
  const list = h("select", { name: label, onchange: () => change(list.value) }, options.map(([name, text]) => h("option", { value: name, selected: name === value }, text)));
  return h("label", {}, label, " ", list);
}
