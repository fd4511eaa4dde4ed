import { tags, type TagValue } from "../data/tags";
import { tagText } from "../model";
import { h } from "../parts/dom";
import { described, doingBar } from "../parts/doing_bar";
import { percent, quantity } from "../parts/numbers";
import { sortedTable, type Column } from "../parts/table";
import type { Shown } from "./shown";

const STATES = new Set(["%GVL", "%GC", "gvl_state", "gc_phase"]); // they say it themselves

/** What each value of each label comes to; a click focuses on it. */
export function tagsView({ model, state, store, place, say }: Shown): HTMLElement {
  const { unit } = model.type(state);
  const found = tags(model.profile, model.typeIndex(state), model.filter(state), model.timeline.columnOf);
  say(`${found.size} labels${state.compare === "" ? "" : " of the target"}`);
  if (found.size === 0) return h("p", {}, "The profile has no labels.");
  return h("div", { class: "tags" }, [...found].map(([key, values]) => {
    const did: Column<TagValue>[] = values[0]?.doing && !STATES.has(key)
      ? [{ key: "did", title: "Threads did", value: ({ doing }) => described(doing!), cell: ({ doing }) => doingBar(doing!) }] : [];
    const whole = values.reduce((sum, { amount }) => sum + amount, 0);
    return sortedTable<TagValue>({
      caption: key, rows: values, whole: place.whole, sort: state.sort, first: "weight", sortBy: (sort) => store.set({ sort }, false),
      columns: [
        { key: "weight", title: "Weight", value: ({ amount }) => amount, text: ({ amount }) => quantity(amount, unit) },
        { key: "share", title: "Share", value: ({ amount }) => amount, text: ({ amount }) => percent(amount, whole), share: ({ amount }) => amount / whole },
        { key: "value", title: "Value", value: ({ name }) => name,
          cell: ({ value, name }) => h("button", { class: "name", title: "Focus on it", onclick: () => focus(key, value) }, name) },
        ...did,
      ],
    });
  }));

  function focus(key: string, value: string | null): void {
    const narrowed = value === null
      ? { only: [...state.only, tagText(key, null)] }
      : { tagfocus: `^${value.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}$` };
    store.set({ view: "flame", sort: "", ...narrowed }, true);
  }
}
