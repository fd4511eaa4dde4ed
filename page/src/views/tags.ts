import { tags } from "../data/tags";
import { h } from "../parts/dom";
import { percent, quantity } from "../parts/numbers";
import type { Shown } from "./view";

/** What each value of each label comes to; a click focuses on it. */
export function tagsView({ model, state, store, say }: Shown): HTMLElement {
  const { unit } = model.type(state);
  const found = tags(model.profile, model.typeIndex(state), model.filter(state), model.timeline.columnOf);
  say(`${found.size} labels`);
  if (found.size === 0) return h("p", {}, "The profile has no labels.");
  return h("div", { class: "tags" }, [...found].map(([key, values]) => {
    const whole = values.reduce((sum, { amount }) => sum + amount, 0);
    return h("table", {}, h("caption", {}, key),
      h("thead", {}, h("tr", {}, ["Weight", "Share", "Value"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, values.slice(0, 200).map(({ value, name, amount }) => h("tr", {},
        h("td", { class: "number" }, quantity(amount, unit)), h("td", { class: "number" }, percent(amount, whole)),
        h("td", {}, value === null ? name : h("button", { class: "name", title: "Focus on it", onclick: () => focus(value) }, name))))));
  }));

  function focus(value: string): void {
    store.set({ view: "flame", tagfocus: `^${value.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$` }, true);
  }
}
