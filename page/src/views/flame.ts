import { COLOURS } from "../data/origin";
import { matched } from "../data/search";
import { pattern } from "../model";
import { h } from "../parts/dom";
import { percent, quantity } from "../parts/numbers";
import { flameGraph } from "./flame_graph";
import type { Shown } from "./view";

export function flameView({ model, state, store, width, say }: Shown): HTMLElement {
  const tree = model.callTree(state);
  const { unit } = model.type(state);
  const zoom = tree.find(state.zoom);
  const search = pattern(state.search, "i");
  const graph = flameGraph({
    tree, unit, width, zoom, search, icicle: state.icicle, whole: tree.total[0],
    label: `${state.icicle ? "Icicle" : "Flame"} graph of ${quantity(tree.total[0], unit)}. Arrow keys move, Enter zooms; the table and the tree say the same.`,
    clicked: (node) => {
      store.set({ zoom: tree.path(node) }, true);
      document.querySelector<HTMLElement>(".flame")?.focus();
    },
    hovered: say,
  });
  say(`${quantity(tree.total[0], unit)} of ${model.type(state).name} in all. ? lists the keys.`);
  return h("div", {}, h("div", { class: "above" }, legend(tree.baseTotal !== null), search && found(search), zoom !== 0 &&
    h("button", { onclick: () => store.set({ zoom: [] }, true) }, "Reset zoom"), zoom !== 0 && methodButtons()), graph);

  function found(search: RegExp) {
    const amount = matched(tree, search);
    return h("span", { id: "matched" }, `search: ${quantity(amount, unit)}, ${percent(amount, tree.total[0])}`);
  }

  function methodButtons() {
    const { name, file } = tree.groups[tree.group[zoom]];
    const method = JSON.stringify([name, file]);
    return h("span", {}, h("button", { onclick: () => store.set({ view: "callers", method }, true) }, "Callers and callees"), " ",
      h("button", { onclick: () => store.set({ view: "source", method }, true) }, "Source"), ` ${percent(tree.total[zoom], tree.total[0])} of all`);
  }
}

function legend(compared: boolean): HTMLElement {
  const keys = compared
    ? [["grown", "grown"], ["same", "as before"], ["shrunk", "shrunk"]]
    : COLOURS.map(({ colour, name }) => [colour, name]);
  return h("ul", { class: "legend" }, keys.map(([key, name]) => h("li", {}, h("span", { class: `swatch ${key}` }), name)));
}
